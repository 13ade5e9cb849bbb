import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { VULNERABILITY_SORTS, type VulnerabilitySort } from '@tidegate/protocol/vulnerabilities-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { osvEcosystem } from '../advisories/ecosystem-strings.ts';
import type { KevList } from '../advisories/exploited/kev-list.ts';
import { saysExploited } from '../advisories/exploited/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { isBehind, type Order, type Position, sortedBy } from '../platform/db/keyset.ts';
import { containing } from '../platform/db/like.ts';
import type { Tables } from '../platform/db/tables.ts';
import { named } from '../vulnerability-index/filter-store.ts';

export type VulnerabilityRow = Omit<Tables['vulnerabilities'], 'search' | 'digest'>;

export interface VulnerabilitySelection {
  /** Whose hosts are counted. */
  readonly scope: GroupScope;
  readonly kev: KevList;
  readonly severity?: string | undefined;
  readonly exploited?: 'true' | 'false' | 'unknown' | undefined;
  readonly fix?: 'fixable' | 'waiting' | 'unfixed' | undefined;
  readonly cve?: string | undefined;
  readonly q?: string | undefined;
}

/** The rows as the scope sees them: counts and first time are those of its hosts alone. */
function seen(scope: GroupScope): RawBuilder<unknown> {
  if (scope === null) return sql`vulnerabilities`;
  return sql`(SELECT v.id, v.names, v.covers, v.summary, v.severity, v.exploited, v.epss, v.urgency, v.packages,
      v.search, v.gone_at, own.hosts, own.fixable, own.waiting, own.first_seen_at
    FROM (SELECT vulnerability_id, SUM(hosts) AS hosts, SUM(fixable) AS fixable, SUM(waiting) AS waiting,
        MIN(first_seen_at) AS first_seen_at
      FROM vulnerability_counts WHERE ${groupInScope(scope, 'group_name')} GROUP BY vulnerability_id) AS own
    JOIN vulnerabilities AS v ON v.id = own.vulnerability_id)`;
}

const FIXES = {
  fixable: sql<SqlBool>`fixable > 0`,
  waiting: sql<SqlBool>`waiting > 0`,
  unfixed: sql<SqlBool>`hosts > fixable + waiting`,
};

function conditionsOf(selection: VulnerabilitySelection): RawBuilder<SqlBool>[] {
  const { scope, kev, severity, exploited, fix, cve, q } = selection;
  const all: (RawBuilder<SqlBool> | false)[] = [
    sql<SqlBool>`hosts > 0`,
    // An advisory about several is found by its id; otherwise the list has each of them.
    q === undefined && cve === undefined && sql<SqlBool>`covers = '[]'`,
    severity !== undefined && sql<SqlBool>`COALESCE(severity, 'unknown') = ${severity}`,
    exploited !== undefined && saysExploited(exploited, kev),
    fix !== undefined && FIXES[fix],
    cve !== undefined && sql<SqlBool>`id IN (${named(cve)})`,
    q !== undefined && saysPart(containing(q), scope),
  ];
  return all.filter((condition) => condition !== false);
}

/** The names of packages are those of all hosts: who sees only some is not told by a search what the others have. */
function saysPart(like: string, scope: GroupScope): RawBuilder<SqlBool> {
  return scope === null
    ? sql<SqlBool>`search LIKE ${like} ESCAPE '\\'`
    : sql<SqlBool>`(lower(names) LIKE ${like} ESCAPE '\\' OR lower(summary) LIKE ${like} ESCAPE '\\')`;
}

/** What vulnerability databases call the systems of the hosts of a scope; null: of all hosts. */
export async function distributionsOf(db: Db, scope: GroupScope): Promise<ReadonlySet<string> | null> {
  if (scope === null) return null;
  const systems = await db
    .selectFrom('agents')
    .select(['os_id', 'os_version_id'])
    .distinct()
    .where('deleted_at', 'is', null)
    .where(groupInScope(scope, 'group_name'))
    .execute();
  return new Set(
    systems.flatMap(({ os_id: id, os_version_id: versionId }) =>
      ECOSYSTEMS.flatMap((ecosystem) => {
        const osv = osvEcosystem(ecosystem, { id, versionId });
        return osv.covered ? [osv.name] : [];
      }),
    ),
  );
}

export function vulnerabilityOrder(sort: VulnerabilitySort): Order {
  const { field, descending } = directionOf(sort, VULNERABILITY_SORTS);
  return { parts: [{ by: sql.ref(field), type: 'number' }], id: sql`id`, descending };
}

export function vulnerabilityPosition(sort: VulnerabilitySort, row: VulnerabilityRow): Position {
  return { key: [row[directionOf(sort, VULNERABILITY_SORTS).field]], id: row.id };
}

const COLUMNS = sql`id, names, covers, summary, severity, exploited, epss, urgency, packages, hosts, fixable, waiting,
  first_seen_at, gone_at`;

export async function listVulnerabilities(
  db: Db,
  page: { selection: VulnerabilitySelection; order: Order; limit: number; after: Position | null },
): Promise<VulnerabilityRow[]> {
  const { selection, order, limit, after } = page;
  const where = [...conditionsOf(selection), ...(after === null ? [] : [isBehind(order, after)])];
  const { rows } = await sql<VulnerabilityRow>`SELECT ${COLUMNS} FROM ${seen(selection.scope)} AS seen
    WHERE ${sql.join(where, sql` AND `)} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  return rows.map(rowOf);
}

/** Counted up to one more than TOTAL_MAX. */
export async function countVulnerabilities(db: Db, selection: VulnerabilitySelection): Promise<number> {
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM ${seen(selection.scope)} AS seen WHERE ${sql.join(conditionsOf(selection), sql` AND `)}
      LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return Number(rows[0]?.total);
}

/**
 * The vulnerability with this id, else the most urgent one with this alias; also one that no host has any more. One that
 * hosts have goes before a former one: its id may have become an alias of the other.
 */
export async function findVulnerability(
  db: Db,
  { name, scope }: { name: string; scope: GroupScope },
): Promise<VulnerabilityRow | null> {
  const { rows } = await sql<VulnerabilityRow>`SELECT ${COLUMNS} FROM ${seen(scope)} AS seen
    WHERE id IN (${named(name)})
    ORDER BY CASE WHEN upper(id) = ${name.toUpperCase()} AND (hosts > 0 OR covers <> '[]') THEN 0
      WHEN hosts > 0 THEN 1 WHEN upper(id) = ${name.toUpperCase()} THEN 2 ELSE 3 END, urgency DESC, id LIMIT 1`.execute(
    db,
  );
  return rows[0] ? rowOf(rows[0]) : null;
}

/** PostgreSQL's driver may give a BIGINT as text. */
function rowOf(row: VulnerabilityRow): VulnerabilityRow {
  return {
    ...row,
    ...{ hosts: Number(row.hosts), fixable: Number(row.fixable), waiting: Number(row.waiting) },
    ...{ urgency: Number(row.urgency), first_seen_at: Number(row.first_seen_at) },
    gone_at: row.gone_at === null ? null : Number(row.gone_at),
  };
}

export async function readUnjudged(db: Db) {
  const rows = await db
    .selectFrom('unjudged_packages')
    .selectAll()
    .orderBy('packages', 'desc')
    .orderBy('ecosystem')
    .orderBy('os')
    .orderBy('reason')
    .limit(NOT_JUDGED_MAX)
    .execute();
  return rows.map((row) => ({ ...row, packages: Number(row.packages) }));
}

const NOT_JUDGED_MAX = 100;
