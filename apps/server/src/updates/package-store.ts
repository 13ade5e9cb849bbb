import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { UPDATE_STATES } from '@tidegate/protocol/states';
import {
  PACKAGE_SORT_DEFAULT,
  PACKAGE_SORTS,
  type PackageSort,
  type PackageSortField,
} from '@tidegate/protocol/updates-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { isBehind, type Order, type Position, type SortPart, sortedBy } from '../platform/db/keyset.ts';
import { containing } from '../platform/db/like.ts';
import { and, found, hostConditions, ofPackage, type UpdateSelection } from './filter-store.ts';
import { SEVERITIES_RISING } from './queue-rules.ts';
import { SEVERITY_RANK } from './sort-store.ts';

export interface PackageRow {
  ecosystem: string;
  name: string;
  hosts: number;
  updates: number;
  availableVersions: number;
  newestUpdateAtMs: number;
  security: boolean;
  severity: string | null;
  knownExploited: boolean | null;
  states: Record<string, number>;
}

/** What packages are sorted by, as it is counted over the updates of one. */
const MEASURES: Record<
  PackageSortField,
  { by: RawBuilder<unknown> | null; isNullable?: true; falls?: true }
> = {
  name: { by: null },
  hosts: { by: sql`count(DISTINCT u.agent_id)` },
  updates: { by: sql`count(*)` },
  newest: { by: sql`max(u.discovered_at)` },
  severity: { by: sql`max(${sql.raw(SEVERITY_RANK)})`, isNullable: true, falls: true },
};

export interface PackageOrder extends Order {
  readonly field: PackageSortField;
}

export function packageOrder(sort: PackageSort = PACKAGE_SORT_DEFAULT): PackageOrder {
  const { field, descending } = directionOf<PackageSortField>(sort, PACKAGE_SORTS);
  const { isNullable = false, falls = false } = MEASURES[field];
  const measure: SortPart = { by: sql.ref('measure'), type: 'number', isNullable };
  const name: SortPart = { by: sql.ref('name'), type: 'string' };
  const parts = field === 'name' ? [name] : [measure, name];
  return { field, parts, id: sql.ref('ecosystem'), descending: descending !== falls };
}

export interface PackagePage extends UpdateSelection {
  readonly order: PackageOrder;
  readonly limit: number;
  readonly after: Position | null;
}

/** A package with what it is sorted by; null where that is its name alone. */
interface Named {
  readonly ecosystem: string;
  readonly name: string;
  readonly measure: number | null;
}

export type ListedPackage = PackageRow & { readonly key: Position };

/** Updates rolled up by package over hosts, and how many packages there are: counted up to one more than TOTAL_MAX. */
export async function listPackages(
  db: Db,
  page: PackagePage,
): Promise<{ rows: ListedPackage[]; count: number }> {
  const named = isWalkable(page) ? await walkedNames(db, page) : await countedNames(db, page);
  const rows = await rolledUp(db, { names: named.names, selection: page });
  const byName = new Map(rows.map((row) => [`${row.ecosystem}/${row.name}`, row]));
  const listed = named.names.flatMap(({ ecosystem, name, measure }) => {
    const row = byName.get(`${ecosystem}/${name}`);
    const key = { key: page.order.field === 'name' ? [name] : [measure, name], id: ecosystem };
    return row ? [{ ...row, key }] : [];
  });
  return { rows: listed, count: named.count };
}

/** Whether the names may be taken in order, and one update of each looked for. */
function isWalkable(page: PackagePage): boolean {
  return (
    page.order.field === 'name' && page.filter.agent_id === undefined && hostConditions(page).length === 0
  );
}

async function walkedNames(db: Db, page: PackagePage): Promise<{ names: Named[]; count: number }> {
  const { order, after, limit } = page;
  const isMeant = and([
    ...nameConditions(page.filter),
    sql`EXISTS (SELECT 1 FROM updates AS u
    WHERE u.ecosystem = n.ecosystem AND u.name = n.name AND ${and(ofPackage(page))})`,
  ]);
  const { rows } = await sql<Named>`SELECT n.ecosystem AS ecosystem, n.name AS name, null AS measure
    FROM update_names AS n WHERE ${after === null ? and([]) : isBehind(order, after)} AND ${isMeant}
    ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  const counted = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM update_names AS n WHERE ${isMeant} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return { names: rows, count: Number(counted.rows[0]?.total) };
}

async function countedNames(db: Db, page: PackagePage): Promise<{ names: Named[]; count: number }> {
  const { order, after, limit } = page;
  const { from, where } = found(page);
  const measure = MEASURES[order.field].by ?? sql`null`;
  const { rows } = await sql<Named & { total: number }>`WITH counted AS MATERIALIZED (
      SELECT u.ecosystem AS ecosystem, u.name AS name, ${measure} AS measure
      FROM ${from} WHERE ${and(where)} GROUP BY u.ecosystem, u.name)
    SELECT ecosystem, name, measure, (SELECT count(*) FROM counted) AS total FROM counted
    WHERE ${after === null ? and([]) : isBehind(order, after)} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(
    db,
  );
  const names = rows.map(({ ecosystem, name, measure: value }) => ({
    ecosystem,
    name,
    measure: value === null ? null : Number(value),
  }));
  return { names, count: Number(rows[0]?.total ?? 0) };
}

function nameConditions({ ecosystem, name, q }: UpdateSelection['filter']) {
  return [
    ...(ecosystem === undefined ? [] : [sql<SqlBool>`n.ecosystem = ${ecosystem}`]),
    ...(name === undefined ? [] : [sql<SqlBool>`n.name = ${name}`]),
    ...(q === undefined ? [] : [sql<SqlBool>`lower(n.name) LIKE ${containing(q)} ESCAPE '\\'`]),
  ];
}

/** All that is said of packages, for those of one page. */
async function rolledUp(
  db: Db,
  { names, selection }: { names: readonly Named[]; selection: UpdateSelection },
): Promise<PackageRow[]> {
  if (names.length === 0) return [];
  const some = sql.join(names.map(({ ecosystem, name }) => sql`(${ecosystem}, ${name})`));
  const counts = sql.join(
    UPDATE_STATES.map(
      (state) => sql`sum(CASE WHEN u.state = ${sql.lit(state)} THEN 1 ELSE 0 END) AS ${sql.ref(state)}`,
    ),
  );
  const { rows } = await sql<RolledUp>`SELECT u.ecosystem AS ecosystem, u.name AS name,
      count(DISTINCT u.agent_id) AS hosts, count(*) AS updates, count(DISTINCT u.available_version) AS versions,
      max(u.discovered_at) AS newest, max(u.security) AS security, max(u.known_exploited) AS known_exploited,
      max(${sql.raw(SEVERITY_RANK)}) AS severity_rank, ${counts}
    FROM updates AS u WHERE (u.ecosystem, u.name) IN (VALUES ${some}) AND ${and(ofPackage(selection))}
    GROUP BY u.ecosystem, u.name`.execute(db);
  return rows.map(packageRow);
}

type RolledUp = Record<(typeof UPDATE_STATES)[number], number | string> & {
  ecosystem: string;
  name: string;
  hosts: number;
  updates: number;
  versions: number;
  newest: number;
  security: number;
  known_exploited: number | null;
  severity_rank: number | null;
};

function packageRow(row: RolledUp): PackageRow {
  const counts = UPDATE_STATES.map((state) => [state, Number(row[state])] as const);
  return {
    ecosystem: row.ecosystem,
    name: row.name,
    hosts: Number(row.hosts),
    updates: Number(row.updates),
    availableVersions: Number(row.versions),
    newestUpdateAtMs: Number(row.newest),
    security: row.security === 1,
    severity: row.severity_rank === null ? null : (SEVERITIES_RISING[Number(row.severity_rank) - 1] ?? null),
    knownExploited: row.known_exploited === null ? null : row.known_exploited === 1,
    states: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}
