import type { QueryWatch } from '../slow-log.ts';

/** One query under a watch. */
export interface Measured {
  /** It waited until now, and runs from here. */
  begin(): void;
  /** It has ended, well or not. `rows`: null where it returned none. */
  end(rows: number | null): void;
}

const UNMEASURED: Measured = { begin: () => {}, end: () => {} };

/** Measures a query from now on; without a watch it costs nothing but the call. */
export function measure(watch: QueryWatch | null, sql: string): Measured {
  if (watch === null) return UNMEASURED;
  const askedMs = watch.elapsedMs();
  let beganMs = askedMs;
  return {
    begin: () => {
      beganMs = watch.elapsedMs();
    },
    end: (rows) => {
      const tookMs = watch.elapsedMs() - askedMs;
      if (tookMs >= watch.thresholdMs) watch.tell({ sql, tookMs, waitedMs: beganMs - askedMs, rows });
    },
  };
}
