import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import {
  UPDATED_HOST_SORT_DEFAULT,
  UPDATED_HOST_SORTS,
  type UpdatedHostSort,
  type UpdatedHostSortField,
} from '@tidegate/protocol/updates-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type AgentRow, findAgents } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import {
  isBehind,
  type Order,
  type Position,
  rangesOf,
  type SortPart,
  sortedBy,
} from '../platform/db/keyset.ts';
import {
  and,
  areFewHosts,
  found,
  hostConditions,
  isNarrow,
  scannedByHost,
  type UpdateListFilter,
  type UpdateSelection,
} from './filter-store.ts';
import { FIX_COUNTS } from './host-sums-schema.ts';

/** The columns of `host_sums` beside its key. */
const COLUMNS = ['pending', 'exploited', 'critical', 'high', 'fixing', 'judged'] as const;
type Counts = Readonly<Record<(typeof COLUMNS)[number], number>>;

export interface UpdatedHostOrder extends Order {
  readonly field: UpdatedHostSortField;
  readonly columns: readonly (keyof Counts | 'hostname')[];
}

const SORTED_BY: Record<UpdatedHostSortField, { columns: UpdatedHostOrder['columns']; falls?: true }> = {
  urgency: { columns: ['exploited', 'critical', 'high', 'fixing'], falls: true },
  updates: { columns: ['pending'] },
  hostname: { columns: ['hostname'] },
};

export function updatedHostOrder(sort: UpdatedHostSort = UPDATED_HOST_SORT_DEFAULT): UpdatedHostOrder {
  const { field, descending } = directionOf<UpdatedHostSortField>(sort, UPDATED_HOST_SORTS);
  const { columns, falls = false } = SORTED_BY[field];
  const parts = columns.map(
    (column): SortPart =>
      column === 'hostname'
        ? { by: sql`a.hostname`, type: 'string' }
        : { by: sql.ref(`c.${column}`), type: 'number' },
  );
  // The indexes of names are of one table, those of sums of another.
  const id = field === 'hostname' ? sql`a.id` : sql`c.agent_id`;
  return { field, columns, parts, id, descending: descending !== falls };
}

export interface UpdatedHostPage {
  readonly filter: Omit<UpdateListFilter, 'state'>;
  readonly scope: GroupScope;
  readonly order: UpdatedHostOrder;
  readonly limit: number;
  readonly after: Position | null;
  /** Maximum hosts that are looked up one by one; beyond it an index is walked. */
  readonly mostHosts?: number;
}

export interface ListedHost {
  readonly agent: AgentRow;
  readonly counts: Counts;
  readonly position: Position;
}

const HOSTS_LOOKED_UP = 2_500;

type Row = Counts & { id: string; hostname: string; total: number };

/**
 * Hosts with pending updates, and their number, counted up to one more than TOTAL_MAX. Stored sums answer filters on
 * hosts; for others the updates are counted.
 */
export async function listUpdatedHosts(
  db: Db,
  page: UpdatedHostPage,
): Promise<{ rows: ListedHost[]; count: number }> {
  const rows = await (isOfHostsAlone(page.filter) ? summed(db, page) : counted(db, page));
  const agents = await findAgents(
    db,
    rows.map(({ id }) => id),
  );
  const listed = rows.flatMap((row) => {
    const agent = agents.get(row.id);
    const counts = countsOf(row);
    const key = page.order.columns.map((column) => (column === 'hostname' ? row.hostname : counts[column]));
    return agent ? [{ agent, counts, position: { key, id: row.id } }] : [];
  });
  return { rows: listed, count: Math.min(Number(rows[0]?.total ?? 0), TOTAL_MAX + 1) };
}

async function summed(db: Db, page: UpdatedHostPage): Promise<Row[]> {
  const { filter, order, after, limit, mostHosts = TOTAL_MAX } = page;
  const selection: UpdateSelection = { filter, scope: page.scope };
  const areFew = filter.agent_id !== undefined || (await areFewHosts(db, selection, mostHosts));
  // CROSS: SQLite starts with the first table, the one with an index in this order or the few hosts.
  const from =
    areFew || order.field === 'hostname'
      ? sql`agents AS a CROSS JOIN host_sums AS c`
      : sql`host_sums AS c CROSS JOIN agents AS a`;
  const where = [
    sql<SqlBool>`c.agent_id = a.id AND a.deleted_at IS NULL AND c.pending > 0`,
    ...hostConditions(selection),
    ...(filter.agent_id === undefined ? [] : [sql<SqlBool>`a.id = ${filter.agent_id}`]),
  ];
  const [range] = rangesOf(order, after);
  const { rows } = await sql<Row>`SELECT c.agent_id AS id, a.hostname AS hostname, ${columns()},
      (SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${and(where)} LIMIT ${sql.lit(TOTAL_MAX + 1)}) AS matching) AS total
    FROM ${from} WHERE ${and([...where, ...(range?.where ?? [])])} ORDER BY ${range?.orderBy} LIMIT ${limit}`.execute(
    db,
  );
  return rows;
}

async function counted(db: Db, page: UpdatedHostPage): Promise<Row[]> {
  const { filter, scope, order, after, limit, mostHosts = HOSTS_LOOKED_UP } = page;
  const selection: UpdateSelection = { filter: { ...filter, state: 'pending' }, scope };
  const isFound = isNarrow(filter) || (await areFewHosts(db, selection, mostHosts));
  const { from, where } = isFound ? found(selection) : scannedByHost(selection);
  const sums = FIX_COUNTS.map(
    ([column, condition]) =>
      sql`sum(CASE WHEN ${sql.raw(condition('u'))} THEN 1 ELSE 0 END) AS ${sql.ref(column)}`,
  );
  const behind = after === null ? [] : [isBehind(order, after)];
  // Only the order by name needs the names of all.
  const [ranked, named] =
    order.field === 'hostname'
      ? [sql`counted`, behind]
      : [
          sql`(SELECT * FROM counted AS c WHERE ${and(behind)} ORDER BY ${sortedBy(order)} LIMIT ${limit})`,
          [],
        ];
  const { rows } = await sql<Row>`WITH counted AS MATERIALIZED (
      SELECT u.agent_id AS agent_id, count(*) AS pending, ${sql.join(sums)} FROM ${from} WHERE ${and(where)}
      GROUP BY u.agent_id)
    SELECT c.agent_id AS id, a.hostname AS hostname, ${columns()}, (SELECT count(*) FROM counted) AS total
    FROM ${ranked} AS c CROSS JOIN agents AS a WHERE ${and([sql<SqlBool>`a.id = c.agent_id`, ...named])}
    ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  return rows;
}

/** Whether the filter has only what a host is. */
function isOfHostsAlone({
  agent_id: _,
  group: __,
  tag: ___,
  os: ____,
  host: _____,
  ...rest
}: UpdatedHostPage['filter']): boolean {
  return Object.values(rest).every((value) => value === undefined);
}

function columns(): RawBuilder<unknown> {
  return sql.join(COLUMNS.map((column) => sql`${sql.ref(`c.${column}`)} AS ${sql.ref(column)}`));
}

/** PostgreSQL returns sums as texts. */
function countsOf({ pending, exploited, critical, high, fixing, judged }: Counts): Counts {
  return {
    pending: Number(pending),
    exploited: Number(exploited),
    critical: Number(critical),
    high: Number(high),
    fixing: Number(fixing),
    judged: Number(judged),
  };
}
