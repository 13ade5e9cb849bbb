import type { EvidenceScope } from '@tidegate/protocol/evidence-api';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { type HostRow, hostsIn, PAGE_ROWS } from './store.ts';

/** The hosts of a scope, by id. A fleet of 100,000 has some 30 MB of these rows. */
export async function hostsOfScope(db: Db, scope: EvidenceScope): Promise<Map<string, HostRow>> {
  const agentId = scope.kind === 'host' ? scope.agent_id : null;
  const found = new Map<string, HostRow>();
  for (let after = ''; ; ) {
    await takeTurn();
    const page = await hostsIn(db, { agentId, groups: groupsOf(scope), after });
    for (const row of page) found.set(row.id, row);
    after = page.at(-1)?.id ?? after;
    if (page.length < PAGE_ROWS) return found;
  }
}

function groupsOf(scope: EvidenceScope): readonly string[] | null {
  if (scope.kind === 'group') return [scope.group];
  return scope.kind === 'groups' ? scope.groups : null;
}
