import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { agentInScope } from '../platform/db/group-scope.ts';
import { containing, lowered } from '../platform/db/like.ts';
import { type EventSelection, type ListedEvent, withHosts } from './store.ts';

export interface EventPage {
  readonly selection: EventSelection & {
    readonly q?: string | undefined;
    /** Null: every type. */
    readonly types: readonly string[] | null;
  };
  readonly descending: boolean;
  readonly limit: number;
  /** The position of the last event of the previous page. */
  readonly after: number | null;
}

/** Events in the order of the log, and their total, counted up to one more than TOTAL_MAX. */
export async function listPageOfEvents(
  db: Db,
  { selection, descending, limit, after }: EventPage,
): Promise<{ rows: ListedEvent[]; count: number }> {
  const conditions = conditionsOf(selection);
  if (selection.q !== undefined) {
    // An index of types or actors is used only if no other filter narrows the result.
    const isAlone = conditions.length === 1;
    conditions.push(await saysPart(db, { q: selection.q, isAlone }));
  }
  const meant = sql.join(conditions, sql` AND `);
  const counted = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM events WHERE ${meant} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  const count = Number(counted.rows[0]?.total);
  if (count === 0) return { rows: [], count };
  const [sign, direction] = descending ? [sql`<`, sql`DESC`] : [sql`>`, sql`ASC`];
  const behind = after === null ? sql`1 = 1` : sql`position ${sign} ${after}`;
  // A covering index gives the positions; the rows with their content are read afterwards.
  const { rows: found } = await sql<{ position: number }>`SELECT position FROM events
    WHERE ${meant} AND ${behind} ORDER BY position ${direction} LIMIT ${limit}`.execute(db);
  const positions = found.map(({ position }) => position);
  const rows =
    positions.length === 0
      ? []
      : await withHosts(db)
          .where('e.position', 'in', positions)
          .orderBy('e.position', descending ? 'desc' : 'asc')
          .execute();
  return { rows, count };
}

/** Maximum distinct texts of a column that are searched; beyond it every event is. */
const MOST_TEXTS = 500;

/** Types and actors are few: a search scans these instead of the events. */
async function saysPart(
  db: Db,
  { q, isAlone }: { q: string; isAlone: boolean },
): Promise<RawBuilder<SqlBool>> {
  const part = containing(q);
  const [types, actors] = await Promise.all(
    (['type', 'actor'] as const).map(async (column) => {
      const texts = await textsOf(db, column);
      const by = sql.ref(column);
      if (texts === null) return sql<SqlBool>`lower(${by}) LIKE ${part} ESCAPE '\\'`;
      const found = texts.filter((text) => lowered(text).includes(lowered(q)));
      if (found.length === 0) return null;
      return sql<SqlBool>`${isAlone ? by : sql`${by} || ''`} IN (${sql.join(found)})`;
    }),
  );
  const either = [types, actors].flatMap((condition) => condition ?? []);
  return either.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`(${sql.join(either, sql` OR `)})`;
}

/** All distinct texts of a column, each found from the previous one by index; null if there are too many. */
async function textsOf(db: Db, column: 'type' | 'actor'): Promise<string[] | null> {
  const by = sql.ref(column);
  const { rows } = await sql<{ text: string }>`WITH RECURSIVE texts (text, number) AS (
      SELECT (SELECT min(${by}) FROM events), 1
      UNION ALL SELECT (SELECT min(${by}) FROM events WHERE ${by} > texts.text), texts.number + 1
      FROM texts WHERE texts.text IS NOT NULL AND texts.number <= ${sql.lit(MOST_TEXTS)})
    SELECT text FROM texts WHERE text IS NOT NULL`.execute(db);
  return rows.length > MOST_TEXTS ? null : rows.map(({ text }) => text);
}

function conditionsOf({ filter, scope, types }: EventPage['selection']): RawBuilder<SqlBool>[] {
  const all: (RawBuilder<SqlBool> | false)[] = [
    sql<SqlBool>`1 = 1`,
    // Only operators of the whole fleet see events without a host.
    scope !== null && agentInScope(scope, 'agent_id'),
    filter.kind !== undefined && sql<SqlBool>`kind = ${filter.kind}`,
    types !== null && sql<SqlBool>`type IN (${sql.join(types)})`,
    filter.type !== undefined && sql<SqlBool>`type = ${filter.type}`,
    filter.severity !== undefined && sql<SqlBool>`severity = ${filter.severity}`,
    // The index of severities has all except these.
    filter.severity !== undefined && filter.severity !== 'info' && sql<SqlBool>`severity <> 'info'`,
    filter.component !== undefined && sql<SqlBool>`component = ${filter.component}`,
    filter.agentId !== undefined && sql<SqlBool>`agent_id = ${filter.agentId}`,
    filter.sinceMs !== undefined && sql<SqlBool>`created_at >= ${filter.sinceMs}`,
    filter.untilMs !== undefined && sql<SqlBool>`created_at < ${filter.untilMs}`,
  ];
  return all.filter((condition) => condition !== false);
}
