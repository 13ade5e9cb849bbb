import { Temporal } from '../platform/temporal.ts';

/** One day of a zone: 23 or 25 hours long where the clocks change. */
export interface ZonedDay {
  readonly date: string;
  readonly startMs: number;
  /** The first moment after it. */
  readonly endMs: number;
}

/** The days from a date on; those that the zone skips are left out. Throws RangeError for a zone or date that is none. */
export function daysOf({ from, count, zone }: { from: string; count: number; zone: string }): ZonedDay[] {
  const first = Temporal.PlainDate.from(from);
  return Array.from({ length: count }, (_, i) => first.add({ days: i })).flatMap((date) => {
    const startMs = startOf(date, zone);
    const endMs = startOf(date.add({ days: 1 }), zone);
    return endMs > startMs ? [{ date: date.toString(), startMs, endMs }] : [];
  });
}

/** Midnight, or the first moment after it where the clocks skip it. */
function startOf(date: Temporal.PlainDate, timeZone: string): number {
  return date.toZonedDateTime({ timeZone }).epochMilliseconds;
}
