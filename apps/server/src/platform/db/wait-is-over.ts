import { type SqlBool, sql } from 'kysely';
import { latestEndOf, type Wait } from '../due.ts';

/** The same as `!isWaiting`, of a column. */
export function waitIsOver(column: string, wait: Wait) {
  const until = sql.ref(column);
  return sql<SqlBool>`(${until} <= ${wait.nowMs} OR ${until} > ${latestEndOf(wait)})`;
}
