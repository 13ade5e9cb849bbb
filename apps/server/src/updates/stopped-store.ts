import { type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { RECOMMENDED_HERE } from './offer-rules.ts';

/** Open updates of present hosts, of each package the recommended version, by the vulnerability policies that stop them. */
export interface StoppedCounts {
  /** Stopped under both policies. */
  readonly introduced: number;
  /** Stopped by A1 to the letter alone. */
  readonly any: number;
  readonly neither: number;
  readonly notJudged: number;
}

/** One statement, answered from an index of the open updates. */
export async function countStopped(db: Db): Promise<StoppedCounts> {
  const rows = await stoppedQuery(db).execute();
  const of = (stopped: string | null) =>
    Number(rows.find(({ stopped_under }) => stopped_under === stopped)?.updates ?? 0);
  return {
    introduced: of('introduced'),
    any: of('any'),
    neither: of('neither'),
    notJudged: of(null),
  };
}

/** With literals: SQLite uses an index of some rows only where the statement itself says which. */
export function stoppedQuery(db: Db) {
  return db
    .selectFrom('updates')
    .select(['stopped_under', (e) => e.fn.countAll<number>().as('updates')])
    .where('gone', '=', sql.lit(0))
    .where('state', 'in', [sql.lit('pending'), sql.lit('awaiting_plan')])
    .where(sql<SqlBool>`(state <> 'pending' OR (recommended & ${sql.lit(RECOMMENDED_HERE)}) <> 0)`)
    .groupBy('stopped_under');
}
