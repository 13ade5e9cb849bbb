import { type SqlBool, sql } from 'kysely';
import { CLOCKS_DIFFER_MS, type Wait } from '../due.ts';

/** The same as `!isWaiting`, of a column. */
export function waitIsOver(column: string, { nowMs, longestMs }: Wait) {
  const until = sql.ref(column);
  return sql<SqlBool>`(${until} <= ${nowMs} OR ${until} > ${nowMs + longestMs + CLOCKS_DIFFER_MS})`;
}
