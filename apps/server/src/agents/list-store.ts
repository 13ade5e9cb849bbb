import {
  AGENT_SORT_DEFAULT,
  AGENT_SORTS,
  type AgentSort,
  type AgentSortField,
} from '@tidegate/protocol/agents-api';
import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import {
  isBehind,
  type Order,
  type Position,
  type SortPart,
  sortedBy,
  stretchesOf,
} from '../platform/db/keyset.ts';
import { type AgentSelection, agentConditions, HOSTS, type Presence, statusRank } from './filter-store.ts';
import { type AgentRow, findAgents } from './store.ts';

export interface AgentOrder extends Order {
  /** Whether an index has the hosts in this order. */
  readonly isIndexed: boolean;
  readonly from: RawBuilder<unknown>;
}

const PENDING = sql`${HOSTS} LEFT JOIN (SELECT agent_id, count(*) AS updates FROM updates WHERE state = 'pending'
  GROUP BY agent_id) AS w ON w.agent_id = a.id`;

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
      return [{ by: sql`COALESCE(w.updates, 0)`, type: 'number' }];
  }
}

const INDEXED: readonly AgentSortField[] = ['hostname', 'enrolled_at', 'os'];

export function agentOrder(sort: AgentSort = AGENT_SORT_DEFAULT, presence: Presence): AgentOrder {
  const { field, descending } = directionOf<AgentSortField>(sort, AGENT_SORTS);
  return {
    parts: partsOf(field, presence),
    id: sql`a.id`,
    descending,
    isIndexed: INDEXED.includes(field),
    from: field === 'pending_updates' ? PENDING : HOSTS,
  };
}

export interface AgentPage extends AgentSelection {
  readonly order: AgentOrder;
  readonly limit: number;
  readonly after: Position | null;
}

export type ListedAgent = AgentRow & { readonly position: Position };

/** Hosts in an order, and how many there are: counted up to one more than TOTAL_MAX. */
export async function listAgents(db: Db, page: AgentPage): Promise<{ rows: ListedAgent[]; count: number }> {
  const { order, after, limit } = page;
  const conditions = agentConditions(page);
  const keys = sql.join(order.parts.map(({ by }, i) => sql`${by} AS ${sql.ref(`k${i}`)}`));
  const [stretch] = stretchesOf(order, after);
  const behind = after === null ? [] : [isBehind(order, after)];
  const { where, orderBy } =
    order.isIndexed && stretch ? stretch : { where: behind, orderBy: sortedBy(order) };
  const { rows } = await sql<Key>`SELECT a.id AS id, ${keys} FROM ${order.from}
    WHERE ${sql.join([...conditions, ...where], sql` AND `)} ORDER BY ${orderBy} LIMIT ${limit}`.execute(db);
  const agents = await findAgents(
    db,
    rows.map(({ id }) => id),
  );
  const listed = rows.flatMap((row) => {
    const agent = agents.get(row.id);
    return agent ? [{ ...agent, position: positionOf(row, order) }] : [];
  });
  return { rows: listed, count: await countAgents(db, page) };
}

type Key = { id: string } & { [key: string]: string | number | null };

function positionOf(row: Key, { parts }: Order): Position {
  return { key: parts.map((_, i) => row[`k${i}`] ?? null), id: row.id };
}

/** Counts no further than one more than TOTAL_MAX. */
export async function countAgents(db: Db, selection: AgentSelection): Promise<number> {
  const { rows } = await sql<{ total: number }>`SELECT count(*) AS total FROM (SELECT 1 FROM ${HOSTS}
    WHERE ${sql.join(agentConditions(selection), sql` AND `)} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return Number(rows[0]?.total);
}
