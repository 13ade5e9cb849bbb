import {
  AGENT_SORT_DEFAULT,
  AGENT_SORTS,
  type AgentSort,
  type AgentSortField,
} from '@tidegate/protocol/agents-api';
import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import {
  byKeyColumns,
  isBehind,
  keyColumns,
  type Order,
  type Position,
  rangesOf,
  type SortPart,
  sortedBy,
} from '../platform/db/keyset.ts';
import { type AgentSelection, agentConditions, HOSTS, statusRank } from './filter-store.ts';
import { type AgentRow, findAgents } from './store.ts';

export interface AgentOrder extends Order {
  readonly field: AgentSortField;
}

/** CROSS makes SQLite start with the left table, whose index has the hosts in this order. */
const BY_PENDING = sql`host_sums AS h CROSS JOIN agents AS a LEFT JOIN agent_presence AS p ON p.agent_id = a.id
  LEFT JOIN clone_suspicions AS k ON k.agent_id = a.id AND k.closed_at IS NULL`;
const IS_OF_HOST = sql<SqlBool>`h.agent_id = a.id`;

function partsOf(field: AgentSortField, nowMs: number): SortPart[] {
  switch (field) {
    case 'hostname':
      return [{ by: sql`a.hostname`, type: 'string' }];
    case 'enrolled_at':
      return [{ by: sql`a.enrolled_at`, type: 'number' }];
    case 'os':
      return [
        { by: sql`a.os_id`, type: 'string' },
        { by: sql`a.os_version_id`, type: 'string' },
      ];
    case 'last_seen_at':
      return [{ by: sql`p.last_seen_at`, type: 'number', isNullable: true }];
    case 'status':
      return [{ by: statusRank(nowMs), type: 'number' }];
    case 'pending_updates':
      return [{ by: sql`h.pending`, type: 'number' }];
  }
}

/** Orders that an index provides. */
const INDEXED: readonly AgentSortField[] = ['hostname', 'enrolled_at', 'os'];

export function agentOrder(sort: AgentSort = AGENT_SORT_DEFAULT, nowMs: number): AgentOrder {
  const { field, descending } = directionOf<AgentSortField>(sort, AGENT_SORTS);
  const id = field === 'pending_updates' ? sql`h.agent_id` : sql`a.id`;
  return { field, parts: partsOf(field, nowMs), id, descending };
}

export interface AgentPage extends AgentSelection {
  readonly order: AgentOrder;
  readonly limit: number;
  readonly after: Position | null;
  /** Most hosts sorted by their updates in memory; beyond it an index is walked. */
  readonly mostSorted?: number;
}

export type ListedAgent = AgentRow & { readonly position: Position };

/** A page of hosts, and their number, counted up to TOTAL_MAX + 1. */
export async function listAgents(db: Db, page: AgentPage): Promise<{ rows: ListedAgent[]; count: number }> {
  const { count, keys } = (await areSurelyMany(db, page))
    ? { count: TOTAL_MAX + 1, keys: null }
    : await findFew(db, page);
  const found = keys ?? (await walkMany(db, page));
  const agents = await findAgents(
    db,
    found.map(({ id }) => id),
  );
  const rows = found.flatMap((key) => {
    const agent = agents.get(key.id);
    return agent ? [{ ...agent, position: positionOf(key, page.order) }] : [];
  });
  return { rows, count };
}

/**
 * Counts the hosts, and sorts them in the same statement if they are few: a filter that no index has reads the fleet,
 * and does so once. Of many hosts there are no keys.
 */
async function findFew(db: Db, page: AgentPage): Promise<{ count: number; keys: Key[] | null }> {
  const { order, after, limit, mostSorted = TOTAL_MAX } = page;
  const sorted = byKeyColumns(order);
  const byPending = order.field === 'pending_updates';
  const from = byPending ? sql`${HOSTS} CROSS JOIN host_sums AS h` : HOSTS;
  const conditions = [...agentConditions(page), ...(byPending ? [IS_OF_HOST] : [])];
  const next = [sql<SqlBool>`counted.total <= ${mostSorted}`, ...(after ? [isBehind(sorted, after)] : [])];
  const { rows } = await sql<Partial<Key> & { total: number }>`
    WITH found AS MATERIALIZED (
      SELECT a.id AS id, ${keyColumns(order)} FROM ${from} WHERE ${sql.join(conditions, sql` AND `)} LIMIT ${TOTAL_MAX + 1}
    )
    SELECT counted.total, found.* FROM (SELECT count(*) AS total FROM found) AS counted
    LEFT JOIN found ON ${sql.join(next, sql` AND `)} ORDER BY ${sortedBy(sorted)} LIMIT ${limit}`.execute(db);
  const count = Number(rows[0]?.total);
  const keys = rows.flatMap(({ id, ...rest }) => (typeof id === 'string' ? [{ ...rest, id }] : []));
  return { count, keys: count > mostSorted ? null : keys };
}

/** Probes hosts in the order of the list until the page is full. */
async function walkMany(db: Db, page: AgentPage): Promise<Key[]> {
  const { from, where, orderBy } = sourceOf(page);
  const conditions = sql.join([...agentConditions(page, 'many'), ...where], sql` AND `);
  const { rows } = await sql<Key>`SELECT a.id AS id, ${keyColumns(page.order)} FROM ${from}
    WHERE ${conditions} ORDER BY ${orderBy} LIMIT ${page.limit}`.execute(db);
  return rows;
}

/** Uses an index that has the order. */
function sourceOf({ order, after }: AgentPage) {
  const [range] = rangesOf(order, after);
  if (order.field === 'pending_updates' && range) {
    return { from: BY_PENDING, ...range, where: [IS_OF_HOST, ...range.where] };
  }
  if (INDEXED.includes(order.field) && range) return { from: HOSTS, ...range };
  return { from: HOSTS, where: after === null ? [] : [isBehind(order, after)], orderBy: sortedBy(order) };
}

type Key = { id: string } & { [key: string]: string | number | null };

function positionOf(row: Key, { parts }: Order): Position {
  return { key: parts.map((_, i) => row[`k${i}`] ?? null), id: row.id };
}

/** Whether more than TOTAL_MAX are known to match, where nothing else is asked for than a vulnerability or a package. */
async function areSurelyMany(db: Db, { filter, scope }: AgentSelection): Promise<boolean> {
  const { vulnerable, installed, ...others } = filter;
  if (scope !== null || Object.values(others).some((value) => value !== undefined)) return false;
  if (installed === undefined) return vulnerable !== undefined && vulnerable.hosts > TOTAL_MAX;
  if (vulnerable !== undefined || installed.hosts <= TOTAL_MAX) return false;
  const { deleted } = await db
    .selectFrom('agents')
    .select((e) => e.fn.countAll<number>().as('deleted'))
    .where('deleted_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return installed.hosts - Number(deleted) > TOTAL_MAX;
}
