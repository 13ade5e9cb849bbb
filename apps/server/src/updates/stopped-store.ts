import type { Db } from '../platform/db/engine.ts';

/** Open updates of present hosts, by the vulnerability policies that stop them. */
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
  const rows = await db
    .selectFrom('updates')
    .select(['stopped_under', (e) => e.fn.countAll<number>().as('updates')])
    .where('gone', '=', 0)
    .where('state', 'in', ['pending', 'awaiting_plan'])
    .groupBy('stopped_under')
    .execute();
  const of = (stopped: string | null) =>
    Number(rows.find(({ stopped_under }) => stopped_under === stopped)?.updates ?? 0);
  return {
    introduced: of('introduced'),
    any: of('any'),
    neither: of('neither'),
    notJudged: of(null),
  };
}
