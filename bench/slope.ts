import { median } from './processes.ts';

/** A value at a time, in any unit of each. */
export interface Sample {
  at: number;
  value: number;
}

/** The median of the slopes between all pairs (Theil and Sen): one garbage collection does not move it. NaN below two samples. */
export function slopeOf(samples: readonly Sample[]): number {
  return median(
    samples.flatMap((a, i) =>
      samples.slice(i + 1).map((b) => (b.value - a.value) / Math.max(b.at - a.at, Number.EPSILON)),
    ),
  );
}
