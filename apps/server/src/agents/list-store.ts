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
  isBehind,
  type Order,
  type Position,
  rangesOf,
  type SortPart,
  sortedBy,
} from '../platform/db/keyset.ts';
import { type AgentSelection, agentConditions, HOSTS, type Presence, statusRank } from './filter-store.ts';
import { type AgentRow, findAgents } from './store.ts';

export interface AgentOrder extends Order {
  readonly field: AgentSortField;
}

/** CROSS makes SQLite start with the left table, whose index has the hosts in this order. */
const BY_PENDING = sql`host_sums AS h CROSS JOIN agents AS a LEFT JOIN agent_presence AS p ON p.agent_id = a.id
  LEFT JOIN clone_suspicions AS k ON k.agent_id = a.id AND k.closed_at IS NULL`;
const WITH_PENDING = sql`${HOSTS} CROSS JOIN host_sums AS h`;
const IS_OF_HOST = sql<SqlBool>`h.agent_id = a.id`;

function partsOf(field: AgentSortField, presence: Presence): SortPart[] {
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
      return [{ by: statusRank(presence), type: 'number' }];
    case 'pending_updates':
      return [{ by: sql`h.pending`, type: 'number' }];
  }
}

/** Orders that an index provides. */
const INDEXED: readonly AgentSortField[] = ['hostname', 'enrolled_at', 'os'];

export function agentOrder(sort: AgentSort = AGENT_SORT_DEFAULT, presence: Presence): AgentOrder {
  const { field, descending } = directionOf<AgentSortField>(sort, AGENT_SORTS);
  const id = field === 'pending_updates' ? sql`h.agent_id` : sql`a.id`;
  return { field, parts: partsOf(field, presence), id, descending };
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
  const { order, limit, mostSorted = TOTAL_MAX } = page;
  const count = await countAgents(db, page);
  if (count === 0) return { rows: [], count };
  const keys = sql.join(order.parts.map(({ by }, i) => sql`${by} AS ${sql.ref(`k${i}`)}`));
  const { from, where, orderBy } = sourceOf(page, count > mostSorted);
  const matches = count > mostSorted ? 'many' : 'few';
  const { rows } = await sql<Key>`SELECT a.id AS id, ${keys} FROM ${from}
    WHERE ${sql.join([...agentConditions(page, matches), ...where], sql` AND `)} ORDER BY ${orderBy} LIMIT ${limit}`.execute(
    db,
  );
  const agents = await findAgents(
    db,
    rows.map(({ id }) => id),
  );
  const listed = rows.flatMap((row) => {
    const agent = agents.get(row.id);
    return agent ? [{ ...agent, position: positionOf(row, order) }] : [];
  });
  return { rows: listed, count };
}

/** Uses an index that has the order; for the order by updates only if the selection is large enough. */
function sourceOf({ order, after }: AgentPage, areMany: boolean) {
  const [range] = rangesOf(order, after);
  const sorted = { where: after === null ? [] : [isBehind(order, after)], orderBy: sortedBy(order) };
  if (order.field !== 'pending_updates') {
    return { from: HOSTS, ...(INDEXED.includes(order.field) && range ? range : sorted) };
  }
  const [from, { where, orderBy }] = areMany && range ? [BY_PENDING, range] : [WITH_PENDING, sorted];
  return { from, where: [IS_OF_HOST, ...where], orderBy };
}

type Key = { id: string } & { [key: string]: string | number | null };

function positionOf(row: Key, { parts }: Order): Position {
  return { key: parts.map((_, i) => row[`k${i}`] ?? null), id: row.id };
}

/** Counts up to TOTAL_MAX + 1. */
export async function countAgents(db: Db, selection: AgentSelection): Promise<number> {
  if (await areSurelyMany(db, selection)) return TOTAL_MAX + 1;
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM (SELECT 1 FROM ${HOSTS}
    WHERE ${sql.join(agentConditions(selection), sql` AND `)} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return Number(rows[0]?.total);
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
