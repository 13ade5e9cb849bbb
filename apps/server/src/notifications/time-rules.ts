import type { QuietHours, RuleMode } from '@tidegate/protocol/notifications-api';
import { Temporal } from '../platform/temporal.ts';

type DigestMode = Extract<RuleMode, { kind: 'digest' }>;

const WEEK_DAYS = 7;

/** When the quiet hours that hold now end; null: none do. They follow the wall clock, also where it changes. */
export function quietUntil(quiet: QuietHours | null, nowMs: number): number | null {
  if (quiet === null) return null;
  const { from, until, zone, weekdays } = quiet;
  const today = dateAt(nowMs, zone);
  // Hours that began yesterday may reach into today.
  for (const date of [today.subtract({ days: 1 }), today]) {
    if (!weekdays.includes(date.dayOfWeek)) continue;
    const endDate = until > from ? date : date.add({ days: 1 });
    const [startMs, endMs] = [wallTime(date, from, zone), wallTime(endDate, until, zone)];
    if (startMs <= nowMs && nowMs < endMs) return endMs;
  }
  return null;
}

/** The first moment of a digest after this one. */
export function nextDigest({ at, zone, weekdays }: Omit<DigestMode, 'kind'>, afterMs: number): number {
  const today = dateAt(afterMs, zone);
  for (let days = 0; days <= WEEK_DAYS; days += 1) {
    const date = today.add({ days });
    const atMs = wallTime(date, at, zone);
    if (atMs > afterMs && weekdays.includes(date.dayOfWeek)) return atMs;
  }
  throw new Error('a digest has no weekday');
}

function dateAt(ms: number, zone: string) {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate();
}

/** A time that the clocks skip moves forward by what they skip; of one that happens twice, the first counts. */
function wallTime(date: ReturnType<typeof dateAt>, time: string, zone: string): number {
  return date.toZonedDateTime({ timeZone: zone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds;
}
