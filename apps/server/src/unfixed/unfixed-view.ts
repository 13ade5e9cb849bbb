import { Ecosystem } from '@tidegate/protocol/scalars';
import type { UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { exploitedNow, type KevList } from '../advisories/exploited/kev-list.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { StatementFact } from '../vex/statement-rules.ts';
import { statementsAbout } from '../vex/store.ts';
import type { UnfixedRow } from './write-store.ts';

const Names = Type.Array(Type.String());

/** Rows as operators see them, with the statements in force about them. */
export async function unfixedItems(
  db: Db,
  rows: readonly UnfixedRow[],
  { scope, kev, nowMs }: { scope: GroupScope; kev: KevList; nowMs: number },
): Promise<UnfixedItem[]> {
  const known = rows.map((row) => ({
    ...{ row, ecosystem: Value.Parse(Ecosystem, row.ecosystem) },
    ...{
      names: Value.Parse(Names, JSON.parse(row.names)),
      cves: Value.Parse(Names, JSON.parse(row.cves)),
      records: recordsOf(row),
      own: Value.Parse(Names, JSON.parse(row.packages)),
    },
  }));
  const packages = known.flatMap(({ row, ecosystem, own }) =>
    [...own, row.package].map((name) => ({ ecosystem, name })),
  );
  const statements = await statementsAbout(db, { packages, nowMs });
  return known.map(({ row, ecosystem, names, cves, records, own }) => ({
    ...{ id: row.id, ecosystem, distribution: row.distribution, package: row.package },
    ...{ vulnerability: row.vulnerability, names, cves, records },
    // The names and the time are of all hosts.
    installed_packages: scope === null ? own : [],
    ...{ hosts: row.hosts, hosts_with_pending_fix: row.pending },
    ...{ first_seen_at: rfc3339(row.first_seen_at), severity: row.severity },
    exploited: exploitedNow(row.exploited, kev),
    ...{ fixed_in: row.fixed_in, fix_known_at: timeOf(row.fix_known_at) },
    fix_offered_at: scope === null || row.pending > 0 ? timeOf(row.fix_offered_at) : null,
    statements: statements
      .filter((one) => one.ecosystem === ecosystem && [...own, row.package].includes(one.package))
      .filter((one) => names.includes(one.vulnerability) && isOfDistribution(one, row))
      .filter((one) => isForScope(one, scope))
      .map(({ id, status }) => ({ id, status })),
    mitigation: mitigationOf(row),
  }));
}

/** The records that tell of it: in a row of an earlier release the one whose id it has. */
export function recordsOf({ records, vulnerability }: UnfixedRow): string[] {
  const stored = Value.Parse(Names, JSON.parse(records));
  return stored.length === 0 ? [vulnerability] : stored;
}

/** Operators who are bound to groups see no statement about hosts of others. */
function isForScope({ scope: meant }: StatementFact, scope: GroupScope): boolean {
  if (scope === null || meant.kind === 'all') return true;
  return meant.kind === 'group' && scope.includes(meant.group);
}

/** `rocky` of os-release is `Rocky Linux:9` there. One that is called otherwise shows no statement. */
function isOfDistribution({ distribution }: StatementFact, row: UnfixedRow): boolean {
  if (distribution === null) return true;
  return lettersOf(row.distribution.split(':', 1)[0] ?? '').startsWith(lettersOf(distribution));
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '');
}

function mitigationOf({
  hook,
  note,
  mitigated_by: by,
  mitigated_at: atMs,
}: UnfixedRow): UnfixedItem['mitigation'] {
  return hook === null || note === null || by === null || atMs === null
    ? null
    : { hook, note, by, at: rfc3339(atMs) };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}
