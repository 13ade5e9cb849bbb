import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Db } from '../platform/db/engine.ts';
import { findAgents } from './store.ts';

/** Whether a host is one of a scope. */
export function hostsInScope(
  scope: PolicyScope,
): (host: { readonly id: string; readonly group: string | null }) => boolean {
  if (scope.kind === 'all') return () => true;
  const [groups, hosts] = [new Set(scope.groups), new Set(scope.hosts)];
  return ({ id, group }) => hosts.has(id) || (group !== null && groups.has(group));
}

/** What is wrong with a scope of the right form, and where; null if nothing is. */
export async function scopeFault(
  db: Db,
  scope: PolicyScope,
): Promise<{ path: string; message: string } | null> {
  if (scope.kind === 'all') return null;
  const { groups, hosts } = scope;
  if (groups.length + hosts.length === 0) return { path: '/scope', message: 'must name a group or a host' };
  // A host that is not there is a slip of the pen: the one that was meant would be left out in silence.
  const found = await findAgents(db, hosts);
  const missing = hosts.find((id) => !found.has(id));
  if (missing === undefined) return null;
  return { path: '/scope/hosts', message: `must name enrolled hosts; ${missing} is none` };
}

/** The active hosts of a scope, as the start of a query. */
export function activeHostsIn(db: Db, scope: PolicyScope) {
  const active = db
    .selectFrom('agents as a')
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null);
  if (scope.kind === 'all') return active;
  const { groups, hosts } = scope;
  return active.where(({ eb, or }) =>
    // PostgreSQL knows no empty list.
    or([
      ...(groups.length > 0 ? [eb('a.group_name', 'in', groups)] : []),
      ...(hosts.length > 0 ? [eb('a.id', 'in', hosts)] : []),
    ]),
  );
}
