import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { agentInScope } from '../platform/db/group-scope.ts';
import { containing } from '../platform/db/like.ts';
import type { EventRow, EventSelection } from './store.ts';

export interface EventPage {
  readonly selection: EventSelection & { readonly q?: string | undefined };
  readonly descending: boolean;
  readonly limit: number;
  /** The position of the last event of the page before. */
  readonly after: number | null;
}

/** Events in the order of the log, and how many there are: counted up to one more than TOTAL_MAX. */
export async function listPageOfEvents(
  db: Db,
  { selection, descending, limit, after }: EventPage,
): Promise<{ rows: EventRow[]; count: number }> {
  const meant = sql.join(conditionsOf(selection), sql` AND `);
  const [sign, direction] = descending ? [sql`<`, sql`DESC`] : [sql`>`, sql`ASC`];
  const behind = after === null ? sql`1 = 1` : sql`position ${sign} ${after}`;
  // The positions come from an index that has all that is filtered by; the rows with their content are read after.
  const { rows: found } = await sql<{ position: number }>`SELECT position FROM events
    WHERE ${meant} AND ${behind} ORDER BY position ${direction} LIMIT ${limit}`.execute(db);
  const positions = found.map(({ position }) => position);
  const rows =
    positions.length === 0
      ? []
      : await db
          .selectFrom('events')
          .selectAll()
          .where('position', 'in', positions)
          .orderBy('position', descending ? 'desc' : 'asc')
          .execute();
  const counted = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM events WHERE ${meant} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return { rows, count: Number(counted.rows[0]?.total) };
}

function conditionsOf({ filter, scope, q }: EventPage['selection']): RawBuilder<SqlBool>[] {
  const all: (RawBuilder<SqlBool> | false)[] = [
    sql<SqlBool>`1 = 1`,
    // What names no host is for those who see the whole fleet.
    scope !== null && agentInScope(scope, 'agent_id'),
    filter.kind !== undefined && sql<SqlBool>`kind = ${filter.kind}`,
    filter.type !== undefined && sql<SqlBool>`type = ${filter.type}`,
    filter.severity !== undefined && sql<SqlBool>`severity = ${filter.severity}`,
    filter.component !== undefined && sql<SqlBool>`component = ${filter.component}`,
    filter.agentId !== undefined && sql<SqlBool>`agent_id = ${filter.agentId}`,
    filter.sinceMs !== undefined && sql<SqlBool>`created_at >= ${filter.sinceMs}`,
    filter.untilMs !== undefined && sql<SqlBool>`created_at < ${filter.untilMs}`,
    q !== undefined &&
      sql<SqlBool>`(lower(type) LIKE ${containing(q)} ESCAPE '\\' OR lower(actor) LIKE ${containing(q)} ESCAPE '\\')`,
  ];
  return all.filter((condition) => condition !== false);
}
