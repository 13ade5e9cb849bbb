import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { UPDATE_STATES, type UpdateState } from '@tidegate/protocol/states';
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
import {
  and,
  areFewHosts,
  found,
  isNarrow,
  isOfPackagesAlone,
  ofPackage,
  scannedByPackage,
  statesOf,
  type UpdateSelection,
} from './filter-store.ts';
import { type FixedTogether, fixedTogether, SEVERITIES_RISING } from './queue-rules.ts';
import { SEVERITY_RANK } from './sort-store.ts';

/** The columns of `package_counts` beside its key (package-sums-schema.ts). */
export const SUMMED = [
  ...(['updates', 'hosts', 'security', 'exploited', 'unexploited'] as const),
  ...UPDATE_STATES,
  ...SEVERITIES_RISING.map((severity) => `severity_${severity}`),
];
/** The rank of the worst severity; null if there is none. */
const SUMMED_RANK = `CASE ${SEVERITIES_RISING.map(
  (severity, i) => `WHEN sum(c.severity_${severity}) > 0 THEN ${i + 1}`,
)
  .toReversed()
  .join(' ')} END`;

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
  /** By its waiting updates. */
  fixed: FixedTogether;
  states: Record<string, number>;
}

const WAITING: readonly UpdateState[] = ['pending', 'awaiting_plan'];
/** As the index of waiting updates by package has it. */
const IS_WAITING = sql`u.state IN ('pending', 'awaiting_plan')`;
const WAITING_RANK = sql`CASE WHEN ${IS_WAITING} THEN u.fix_rank END`;
/** The end of a range of that index, for a package named by a row of another table. */
function rankOf(end: 'min' | 'max', table: string, states: readonly UpdateState[] = UPDATE_STATES) {
  const meant = WAITING.filter((state) => states.includes(state));
  if (meant.length === 0) return sql`NULL`;
  // Beside the condition of the index, so that it is found; written so that no other index is.
  const isMeant =
    meant.length === WAITING.length ? IS_WAITING : sql`${IS_WAITING} AND u.state || '' = ${meant[0]}`;
  return sql`(SELECT ${sql.raw(end)}(u.fix_rank) FROM updates AS u WHERE u.ecosystem = ${sql.ref(`${table}.ecosystem`)}
    AND u.name = ${sql.ref(`${table}.name`)} AND u.gone = 0 AND ${isMeant})`;
}

/** Sort keys of packages, as aggregates over the updates of one. */
const MEASURES: Record<
  PackageSortField,
  { by: RawBuilder<unknown>; summed: RawBuilder<unknown>; isNullable?: true; falls?: true }
> = {
  name: { by: sql`NULL`, summed: sql`NULL` },
  hosts: { by: sql`count(DISTINCT u.agent_id)`, summed: sql`sum(c.hosts)` },
  updates: { by: sql`count(*)`, summed: sql`sum(c.updates)` },
  newest: { by: sql`max(u.discovered_at)`, summed: sql`NULL` },
  severity: {
    by: sql`max(${sql.raw(SEVERITY_RANK)})`,
    summed: sql.raw(SUMMED_RANK),
    isNullable: true,
    falls: true,
  },
  urgency: { by: sql`max(${WAITING_RANK})`, summed: sql`NULL`, isNullable: true, falls: true },
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
  /** Maximum hosts whose updates are looked up; beyond it the updates are walked by package. */
  readonly mostHosts?: number;
}

/** A package with its sort key; null if that is only its name. */
interface Named {
  readonly ecosystem: string;
  readonly name: string;
  readonly measure: number | null;
  /** Whether the filter has all of its updates, so that the stored sums are those of the filter. */
  readonly isWhole: boolean;
}

export type ListedPackage = PackageRow & { readonly key: Position };

/**
 * Updates rolled up by package over hosts, and the number of packages, counted up to one more than TOTAL_MAX.
 * Stored sums answer filters on packages, and most on states; for others the index of updates by package is counted.
 */
export async function listPackages(
  db: Db,
  page: PackagePage,
): Promise<{ rows: ListedPackage[]; count: number }> {
  const { names, count } = await (isSummed(page) ? summedNames(db, page) : countedNames(db, page));
  const [whole, part] = [names.filter((one) => one.isWhole), names.filter((one) => !one.isWhole)];
  const rows = [...(await summedUp(db, whole)), ...(await rolledUp(db, { names: part, selection: page }))];
  const byName = new Map(rows.map((row) => [`${row.ecosystem}/${row.name}`, row]));
  const listed = names.flatMap(({ ecosystem, name, measure }) => {
    const row = byName.get(`${ecosystem}/${name}`);
    const key = { key: page.order.field === 'name' ? [name] : [measure, name], id: ecosystem };
    return row ? [{ ...row, key }] : [];
  });
  return { rows: listed, count };
}

/** Sums also count the updates of each state, and an index has the urgency of those that wait; nothing else of states is at hand. */
function isSummed({ order: { field }, filter, scope }: PackagePage): boolean {
  const { state, open, ...rest } = filter;
  const isOfStates = state !== undefined || open !== undefined;
  if (isOfStates && field !== 'name' && field !== 'updates' && field !== 'urgency') return false;
  return isOfPackagesAlone({ filter: rest, scope });
}

async function summedNames(db: Db, page: PackagePage): Promise<Names> {
  const { field } = page.order;
  const updates = updatesOf(page.filter);
  const measure = field === 'updates' ? updates : MEASURES[field].summed;
  const counted = sql`SELECT c.ecosystem AS ecosystem, c.name AS name, ${measure} AS measure,
      CASE WHEN ${updates} = sum(c.updates) THEN 1 ELSE 0 END AS whole
    FROM package_counts AS c WHERE ${and(nameConditions(page.filter))}
    GROUP BY c.ecosystem, c.name HAVING ${updates} > 0`;
  const found = field === 'urgency' ? rankOf('max', 's', statesOf(page.filter)) : FOUND[field];
  if (found === undefined) return namesOf(db, page, counted);
  return namesOf(
    db,
    page,
    sql`SELECT s.ecosystem AS ecosystem, s.name AS name, ${found} AS measure, s.whole AS whole FROM (${counted}) AS s`,
  );
}

/** How many updates of a package the filter has. */
function updatesOf(filter: UpdateSelection['filter']): RawBuilder<unknown> {
  if (filter.state === undefined && filter.open === undefined) return sql`sum(c.updates)`;
  const states = statesOf(filter).map((one) => sql`sum(${sql.ref(`c.${one}`)})`);
  return states.length === 0 ? sql`0` : sql`(${sql.join(states, sql` + `)})`;
}

/** What no sum has, and an index finds for each package. */
const FOUND: Partial<Record<PackageSortField, RawBuilder<unknown>>> = {
  newest: sql`(SELECT max(u.discovered_at) FROM updates AS u
    WHERE u.ecosystem = s.ecosystem AND u.name = s.name AND u.gone = 0)`,
};

const HOSTS_LOOKED_UP = 2_500;

async function countedNames(db: Db, page: PackagePage): Promise<Names> {
  const { mostHosts = HOSTS_LOOKED_UP } = page;
  const areFew = isOfFew(page.filter) || (await areFewHosts(db, page, mostHosts));
  const { from, where, table } = areFew
    ? { ...found(withAlternatives(page)), table: 'u' }
    : scannedByPackage(page);
  const [ecosystem, name] = [sql.ref(`${table}.ecosystem`), sql.ref(`${table}.name`)];
  // In this order the names are found, and the rows of each package are adjacent.
  const counted = sql`SELECT ${ecosystem} AS ecosystem, ${name} AS name, ${MEASURES[page.order.field].by} AS measure,
      0 AS whole FROM ${from} WHERE ${and(where)} GROUP BY ${table === 'n' ? sql`${name}, ${ecosystem}` : sql`${ecosystem}, ${name}`}`;
  return namesOf(db, page, counted);
}

/** Whether an index finds the updates themselves; names of packages are in the order of theirs anyway. */
function isOfFew({ name: _, q: __, ...filter }: UpdateSelection['filter']): boolean {
  return isNarrow(filter);
}

interface Names {
  readonly names: Named[];
  readonly count: number;
}

async function namesOf(
  db: Db,
  { order, after, limit }: PackagePage,
  counted: RawBuilder<unknown>,
): Promise<Names> {
  const { rows } = await sql<
    Omit<Named, 'isWhole'> & { whole: number; total: number }
  >`WITH counted AS MATERIALIZED (${counted})
    SELECT ecosystem, name, measure, whole, (SELECT count(*) FROM counted) AS total FROM counted
    WHERE ${after === null ? and([]) : isBehind(order, after)} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(
    db,
  );
  const names = rows.map(({ ecosystem, name, measure, whole }) => ({
    ecosystem,
    name,
    isWhole: whole === 1,
    measure: measure === null ? null : Number(measure),
  }));
  return { names, count: Math.min(Number(rows[0]?.total ?? 0), TOTAL_MAX + 1) };
}

function nameConditions({ ecosystem, name, q }: UpdateSelection['filter']) {
  return [
    ...(ecosystem === undefined ? [] : [sql<SqlBool>`c.ecosystem = ${ecosystem}`]),
    ...(name === undefined ? [] : [sql<SqlBool>`c.name = ${name}`]),
    ...(q === undefined ? [] : [sql<SqlBool>`lower(c.name) LIKE ${containing(q)} ESCAPE '\\'`]),
  ];
}

/** All columns of packages, for those of one page, from the stored sums. */
async function summedUp(db: Db, names: readonly Named[]): Promise<PackageRow[]> {
  if (names.length === 0) return [];
  const some = sql.join(names.map(({ ecosystem, name }) => sql`(${ecosystem}, ${name})`));
  const sums = (columns: readonly string[]) =>
    sql.join(columns.map((column) => sql`sum(${sql.ref(`c.${column}`)}) AS ${sql.ref(column)}`));
  const { rows } =
    await sql<RolledUp>`SELECT c.ecosystem AS ecosystem, c.name AS name, ${sums(['hosts', 'updates'])},
      ${sums(UPDATE_STATES)}, sum(CASE WHEN c.updates > 0 THEN 1 ELSE 0 END) AS versions,
      (SELECT max(u.discovered_at) FROM updates AS u
        WHERE u.ecosystem = c.ecosystem AND u.name = c.name AND u.gone = 0) AS newest,
      ${rankOf('min', 'c')} AS least_fix, ${rankOf('max', 'c')} AS greatest_fix,
      CASE WHEN sum(c.security) > 0 THEN 1 ELSE 0 END AS security,
      CASE WHEN sum(c.exploited) > 0 THEN 1 WHEN sum(c.unexploited) > 0 THEN 0 END AS known_exploited,
      ${sql.raw(SUMMED_RANK)} AS severity_rank
    FROM (SELECT c.ecosystem, c.name, c.version, ${sums(SUMMED)}
      FROM package_counts AS c WHERE (c.ecosystem, c.name) IN (VALUES ${some}) GROUP BY c.ecosystem, c.name, c.version) AS c
    GROUP BY c.ecosystem, c.name`.execute(db);
  return rows.map(packageRow);
}

/** All columns of packages, for those of one page, from the selected updates. */
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
      max(${sql.raw(SEVERITY_RANK)}) AS severity_rank, min(${WAITING_RANK}) AS least_fix,
      max(${WAITING_RANK}) AS greatest_fix, ${counts}
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
  least_fix: number | null;
  greatest_fix: number | null;
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
    fixed: fixedTogether(row.least_fix, row.greatest_fix),
    states: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}

/** Packages count each version that is offered, as their pages list them. */
function withAlternatives<S extends UpdateSelection>(selection: S): S {
  return { ...selection, filter: { ...selection.filter, alternatives: true } };
}
