import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import {
  byKeyColumns,
  isBehind,
  keyColumns,
  type Position,
  rangesOf,
  sortedBy,
} from '../platform/db/keyset.ts';
import {
  and,
  areFewHosts,
  asMeant,
  found,
  type Source,
  statesOf,
  type UpdateSelection,
  walked,
  walkedByHost,
} from './filter-store.ts';
import { countOfPlans } from './siblings-store.ts';
import { type UpdateOrder, updateOrder } from './sort-store.ts';

export type ListedUpdate = Awaited<ReturnType<typeof rowsOf>>[number];

export interface UpdatePage extends UpdateSelection {
  readonly order: UpdateOrder;
  readonly limit: number;
  readonly after: Position | null;
  /** Maximum rows that are found and sorted; beyond it an index is walked. */
  readonly mostSorted?: number;
}

/**
 * Rows of a list in order, and their total, counted up to one more than TOTAL_MAX. Few rows are found and
 * sorted. For more, an index gives them in order, and enough of them match.
 */
export async function listUpdates(
  db: Db,
  page: UpdatePage,
): Promise<{ rows: ListedUpdate[]; count: number }> {
  const count = await countUpdates(db, page);
  const { mostSorted = TOTAL_MAX, filter } = page;
  // One host, or one package, has few enough, and only their own indexes have them together.
  const isNarrow = filter.agent_id !== undefined || filter.name !== undefined;
  const ids = count > mostSorted && !isNarrow ? await walkedIds(db, page) : await sortedIds(db, page);
  return { rows: await rowsOf(db, ids), count };
}

/** Counts up to one more than TOTAL_MAX. */
export async function countUpdates(db: Db, selection: UpdateSelection): Promise<number> {
  const { from, where } = found(selection);
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM ${from} WHERE ${and(where)} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return Number(rows[0]?.total);
}

/** The ids of at most so many updates, the newest first. */
export async function listUpdateIds(
  db: Db,
  { limit, ...selection }: UpdateSelection & { limit: number },
): Promise<string[]> {
  return sortedIds(db, { ...selection, order: updateOrder(), limit, after: null });
}

/** Null if it is missing or out of the scope. */
export async function listedUpdate(
  db: Db,
  { id, scope }: { id: string; scope: GroupScope },
): Promise<ListedUpdate | null> {
  const { from, where } = found({ filter: { alternatives: true }, scope });
  const { rows } = await sql<{
    id: string;
  }>`SELECT u.id FROM ${from} WHERE ${and(where)} AND u.id = ${id}`.execute(db);
  return (
    (
      await rowsOf(
        db,
        rows.map((row) => row.id),
      )
    )[0] ?? null
  );
}

/** Those of these updates that exist and are in the scope, in the order of the ids. */
export async function listedUpdates(
  db: Db,
  { ids, scope }: { ids: readonly string[]; scope: GroupScope },
): Promise<ListedUpdate[]> {
  const { from, where } = found({ filter: { alternatives: true }, scope });
  const there = new Set<string>();
  for (const some of chunks(ids)) {
    const { rows } = await sql<{ id: string }>`SELECT u.id FROM ${from}
      WHERE ${and(where)} AND u.id IN (${sql.join(some)})`.execute(db);
    for (const { id } of rows) there.add(id);
  }
  return rowsOf(
    db,
    ids.filter((id) => there.has(id)),
  );
}

async function sortedIds(db: Db, { order, limit, after, ...selection }: UpdatePage): Promise<string[]> {
  const source = withHost(found(selection), order);
  const named = byKeyColumns(order);
  const { rows } = await sql<{ id: string }>`WITH sorted AS MATERIALIZED (
      SELECT u.id AS id, ${keyColumns(order)} FROM ${source.from} WHERE ${and(source.where)})
    SELECT id FROM sorted WHERE ${after === null ? and([]) : isBehind(named, after)}
    ORDER BY ${sortedBy(named)} LIMIT ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Sorting by host needs the host beside the row. */
function withHost(source: Source, { field }: UpdateOrder): Source {
  if (field !== 'hostname' || source.isJoined) return source;
  return {
    ...source,
    from: sql`${source.from} CROSS JOIN agents AS a`,
    where: [...source.where, sql`a.id = u.agent_id`],
  };
}

async function walkedIds(db: Db, page: UpdatePage): Promise<string[]> {
  const { order, after, limit } = page;
  const named = rangesOf(byKeyColumns(order), after);
  const sources = await sourcesOf(db, page);
  const meant = sources.find((source) => source.meant)?.meant;
  const ids: string[] = [];
  for (const [i, { where, orderBy }] of rangesOf(order, after).entries()) {
    if (ids.length >= limit) break;
    const left = sql`LIMIT ${limit - ids.length}`;
    const parts = sources.map(
      (source) => sql`SELECT * FROM (SELECT u.id AS id, ${keyColumns(order)} FROM ${source.from}
        WHERE ${and([...source.where, ...where])} ORDER BY ${orderBy} ${left}) AS part`,
    );
    const { rows } = await sql<{ id: string }>`${meant ? asMeant(meant) : sql``}
      SELECT id FROM (${sql.join(parts, sql` UNION ALL `)}) AS walked
      ORDER BY ${named[i]?.orderBy} ${left}`.execute(db);
    ids.push(...rows.map(({ id }) => id));
  }
  return ids;
}

/** Maximum hosts that a walk by name collects first. */
const HOSTS_GATHERED = 20_000;

async function sourcesOf(db: Db, page: UpdatePage): Promise<Source[]> {
  const { order, after, filter } = page;
  if (order.field === 'hostname') return [walkedByHost(page, { order, after })];
  // By name the packages of one system are neighbours: few hosts may have none in a long range of it,
  // whose rows are skipped faster with the hosts at hand.
  const hosts = order.field === 'name' && (await areFewHosts(db, page, HOSTS_GATHERED)) ? 'few' : 'many';
  return statesOf(filter).map((state) => walked(page, { order, state, hosts }));
}

/** Whole rows in the order of the ids. */
async function rowsOf(db: Db, ids: readonly string[]) {
  const rows = await Promise.all(
    chunks(ids).map((some) =>
      db
        .selectFrom('updates as u')
        .innerJoin('agents as a', 'a.id', 'u.agent_id')
        .selectAll('u')
        .select('a.hostname')
        .where('u.id', 'in', some)
        .execute(),
    ),
  );
  const found = rows.flat();
  const counts = await countOfPlans(
    db,
    found.flatMap(({ plan_id }) => plan_id ?? []),
  );
  const byId = new Map(found.map((row) => [row.id, { ...row, siblings: siblingCount(row, counts) }]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A closed update is not among the open ones of its plan. */
function siblingCount(
  { plan_id, state }: { plan_id: string | null; state: string },
  counts: ReadonlyMap<string, number>,
): number | null {
  if (plan_id === null) return null;
  const open = counts.get(plan_id) ?? 0;
  return state === 'pending' || state === 'awaiting_plan' ? Math.max(0, open - 1) : open;
}
