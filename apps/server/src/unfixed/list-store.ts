import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { UNFIXED_SORTS, type UnfixedSort } from '@tidegate/protocol/unfixed-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { KevList } from '../advisories/exploited/kev-list.ts';
import { saysExploited } from '../advisories/exploited/store.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { isBehind, type Order, type Position, sortedBy } from '../platform/db/keyset.ts';
import { containing } from '../platform/db/like.ts';
import { rowOf, type UnfixedRow } from './write-store.ts';

export interface UnfixedSelection {
  /** Whose hosts are counted. */
  readonly scope: GroupScope;
  readonly kev: KevList;
  readonly exploited?: 'true' | 'false' | 'unknown' | undefined;
  readonly mitigated?: 'true' | 'false' | undefined;
  readonly ecosystem?: string | undefined;
  readonly q?: string | undefined;
}

/** The rows as the scope sees them: counts and first time are those of its hosts alone. */
function seen(scope: GroupScope): RawBuilder<unknown> {
  if (scope === null) return sql`unfixed`;
  return sql`(SELECT u.id, u.ecosystem, u.distribution, u.package, u.vulnerability, u.names, u.cves, u.records,
      u.urgency, u.packages,
      u.severity, u.exploited, u.fixed_in, u.fix_known_at, u.fix_offered_at, u.gone_at,
      u.hook, u.note, u.mitigated_by, u.mitigated_at,
      own.hosts, own.pending, own.first_seen_at
    FROM (SELECT unfixed_id, SUM(hosts) AS hosts, SUM(pending) AS pending, MIN(first_seen_at) AS first_seen_at
      FROM unfixed_groups WHERE ${groupInScope(scope, 'group_name')} AND hosts + pending > 0
      GROUP BY unfixed_id) AS own
    JOIN unfixed AS u ON u.id = own.unfixed_id)`;
}

function conditionsOf({ kev, exploited, mitigated, ecosystem, q }: UnfixedSelection): RawBuilder<SqlBool>[] {
  const like = q === undefined ? null : containing(q);
  return [
    sql<SqlBool>`hosts > 0`,
    ...(exploited === undefined ? [] : [saysExploited(exploited, kev)]),
    ...(mitigated === undefined
      ? []
      : [mitigated === 'true' ? sql<SqlBool>`hook IS NOT NULL` : sql<SqlBool>`hook IS NULL`]),
    ...(ecosystem === undefined ? [] : [sql<SqlBool>`ecosystem = ${ecosystem}`]),
    ...(like === null
      ? []
      : [
          sql<SqlBool>`(lower(package) LIKE ${like} ESCAPE '\\' OR lower(names) LIKE ${like} ESCAPE '\\'
            OR lower(cves) LIKE ${like} ESCAPE '\\' OR lower(records) LIKE ${like} ESCAPE '\\')`,
        ]),
  ];
}

export function unfixedOrder(sort: UnfixedSort): Order {
  const { field, descending } = directionOf(sort, UNFIXED_SORTS);
  const parts = fieldsOf(field).map((one) => ({ by: sql.ref(one), type: 'number' as const }));
  return { parts, id: sql`id`, descending };
}

/** Of the equally urgent, those of most hosts come first. */
function fieldsOf(field: (typeof UNFIXED_SORTS)[number]) {
  return field === 'urgency' ? (['urgency', 'hosts'] as const) : ([field] as const);
}

export function unfixedPosition(sort: UnfixedSort, row: UnfixedRow): Position {
  const fields = fieldsOf(directionOf(sort, UNFIXED_SORTS).field);
  return { key: fields.map((field) => row[field]), id: row.id };
}

export async function listUnfixed(
  db: Db,
  page: { selection: UnfixedSelection; order: Order; limit: number; after: Position | null },
): Promise<UnfixedRow[]> {
  const { selection, order, limit, after } = page;
  const where = [...conditionsOf(selection), ...(after === null ? [] : [isBehind(order, after)])];
  const { rows } = await sql<UnfixedRow>`SELECT * FROM ${seen(selection.scope)} AS seen
    WHERE ${sql.join(where, sql` AND `)} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  return rows.map(rowOf);
}

/** Counted up to one more than TOTAL_MAX. */
export async function countUnfixed(db: Db, selection: UnfixedSelection): Promise<number> {
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM ${seen(selection.scope)} AS seen WHERE ${sql.join(conditionsOf(selection), sql` AND `)}
      LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return Number(rows[0]?.total);
}

/** By the id of the row; else the one row of the package that has it as a name, or is told of by a record with this id. */
export async function findByName(
  db: Db,
  { distribution, name, vulnerability }: { distribution: string; name: string; vulnerability: string },
): Promise<UnfixedRow | null> {
  const ofPackage = db
    .selectFrom('unfixed')
    .selectAll()
    .where('distribution', '=', distribution)
    .where('package', '=', name);
  const row = await ofPackage.where('vulnerability', '=', vulnerability).executeTakeFirst();
  if (row && row.gone_at === null) return rowOf(row);
  const like = containing(JSON.stringify(vulnerability));
  const others = await ofPackage
    .where('gone_at', 'is', null)
    .where(sql<SqlBool>`(lower(names) LIKE ${like} ESCAPE '\\' OR lower(records) LIKE ${like} ESCAPE '\\')`)
    .limit(2)
    .execute();
  const [other] = others.length === 1 ? others : [];
  const found = other ?? row;
  return found ? rowOf(found) : null;
}

export async function findUnfixed(db: Db, id: string): Promise<UnfixedRow | null> {
  const row = await db.selectFrom('unfixed').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? rowOf(row) : null;
}

export type MitigationRow = Pick<UnfixedRow, 'hook' | 'note' | 'mitigated_by' | 'mitigated_at'>;

export async function setMitigation(tx: Tx, id: string, row: MitigationRow): Promise<void> {
  await tx.updateTable('unfixed').set(row).where('id', '=', id).execute();
}

/** The hosts of a scope that were counted, and those of them with packages that nobody has judged. */
export async function coverageOf(db: Db, scope: GroupScope): Promise<{ hosts: number; unknown: number }> {
  const { rows } = await sql<{ hosts: number | null; unknown: number | null }>`SELECT SUM(hosts) AS hosts,
    SUM(unknown_hosts) AS unknown FROM unfixed_coverage WHERE ${groupInScope(scope, 'group_name')}`.execute(
    db,
  );
  return { hosts: Number(rows[0]?.hosts ?? 0), unknown: Number(rows[0]?.unknown ?? 0) };
}
