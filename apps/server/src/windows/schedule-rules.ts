import type { Schedule } from '@tidegate/protocol/windows-api';
import { Temporal } from '../platform/temporal.ts';
import {
  DAY_MS,
  dateOf,
  dayOf,
  lastDayOfCount,
  parseRecurrence,
  recurrenceDays,
  SEARCH_YEARS,
} from './recurrence-rules.ts';

/** One opening of a schedule: `endMs` is the first moment after it. */
export interface Occurrence {
  startMs: number;
  endMs: number;
}

/** Hosts accept what is signed for so long after its end, because clocks differ: so it is signed to end earlier. */
export const CLOCK_SKEW_MS = 5 * 60_000;
/** A start lies up to a day after its wall time in UTC+14, when a zone skips a whole day. */
const DAYS_BEFORE = 2;
const DAYS_AFTER = 1;
/** More occurrences than these never overlap: a window lasts a week at most. */
const OPEN_AT_ONCE_MAX = 16;

/** What is wrong with a schedule that has the shape of one, as a sentence for people; null if it can be used. */
export function scheduleFault(schedule: Schedule): string | null {
  const missing = [schedule.starts_on, ...(schedule.except ?? [])].find((date) => dayOf(date) === null);
  if (missing !== undefined) return `The calendar has no ${missing}.`;
  return zoneFault(schedule.zone) ?? ruleFault(schedule);
}

export function zoneFault(zone: string): string | null {
  try {
    const known = zonedStart(0, { zone, start: '00:00' }).timeZoneId;
    return known === zone ? null : `The time zone "${zone}" is written ${known}.`;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `"${zone}" is not a time zone of the IANA database. Use a name such as Europe/Berlin, or UTC.`;
  }
}

function ruleFault(schedule: Schedule): string | null {
  const recurrence = schedule.rrule === null ? null : parseRecurrence(schedule.rrule);
  if (typeof recurrence === 'string') return recurrence;
  const startDay = existingDay(schedule.starts_on);
  if (recurrence?.untilDay !== undefined && recurrence.untilDay < startDay) {
    return `UNTIL is before ${schedule.starts_on}, the date on which the schedule starts.`;
  }
  if (daysOf(schedule, { fromDay: startDay, toDay: Infinity }).next().done) {
    return `The schedule has no date in the ${SEARCH_YEARS} years from ${schedule.starts_on}.`;
  }
  if (recurrence?.count !== undefined && lastDayOfCount(recurrence, startDay) === Infinity) {
    return `COUNT=${recurrence.count} is not reached within ${SEARCH_YEARS} years. Use UNTIL, or no end.`;
  }
  return null;
}

/**
 * At most `limit` occurrences that overlap the time from `fromMs` to just before `toMs`, in order of their starts, at
 * most SEARCH_YEARS on. For schedules without a fault; throws RangeError for some of the others.
 */
export function occurrences(
  schedule: Schedule,
  { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
): Occurrence[] {
  const durationMs = schedule.duration_minutes * 60_000;
  const range = {
    fromDay: Math.floor((fromMs - durationMs) / DAY_MS) - DAYS_BEFORE,
    toDay: Math.floor(toMs / DAY_MS) + DAYS_AFTER,
  };
  return occurrencesOn(schedule, range)
    .filter(({ startMs, endMs }) => endMs > fromMs && startMs < toMs)
    .take(limit)
    .toArray();
}

/** At most `count` occurrences that start after `afterMs`: fewer if SEARCH_YEARS have fewer. */
export function nextOccurrences(
  schedule: Schedule,
  { afterMs, count }: { afterMs: number; count: number },
): Occurrence[] {
  const fromDay = Math.floor(afterMs / DAY_MS) - DAYS_BEFORE;
  return occurrencesOn(schedule, { fromDay, toDay: Infinity })
    .filter(({ startMs }) => startMs > afterMs)
    .take(count)
    .toArray();
}

/** The occurrence that is open at `nowMs`, with its schedule: of several the one that ends last. Null: all are closed. */
export function openOccurrence<S extends Schedule>(
  schedules: readonly S[],
  nowMs: number,
): (Occurrence & { schedule: S }) | null {
  let latest: (Occurrence & { schedule: S }) | null = null;
  for (const schedule of schedules) {
    const open = occurrences(schedule, { fromMs: nowMs, toMs: nowMs + 1, limit: OPEN_AT_ONCE_MAX }).at(-1);
    if (open && (latest === null || open.endMs > latest.endMs)) latest = { ...open, schedule };
  }
  return latest;
}

const DAILY = { freq: 'DAILY', interval: 1, wkst: 'MO' } as const;

interface DayRange {
  fromDay: number;
  toDay: number;
}

function* occurrencesOn(schedule: Schedule, range: DayRange): Generator<Occurrence> {
  let previousMs: number | null = null;
  for (const day of daysOf(schedule, range)) {
    const startMs = zonedStart(day, schedule).epochMilliseconds;
    // A day that its zone skips starts with the next one.
    if (startMs === previousMs) continue;
    previousMs = startMs;
    yield { startMs, endMs: startMs + schedule.duration_minutes * 60_000 };
  }
}

function* daysOf(schedule: Schedule, { fromDay, toDay }: DayRange): Generator<number> {
  const startDay = existingDay(schedule.starts_on);
  const excepted = new Set(schedule.except?.map(existingDay));
  const recurrence =
    schedule.rrule === null ? { ...DAILY, untilDay: startDay } : parseRecurrence(schedule.rrule);
  if (typeof recurrence === 'string') throw new RangeError(recurrence);
  for (const day of recurrenceDays(recurrence, { startDay, fromDay, toDay })) {
    if (!excepted.has(day)) yield day;
  }
}

/** Temporal resolves wall times that the clocks skip or repeat as Schedule says ('compatible'). */
function zonedStart(day: number, { zone, start }: { zone: string; start: string }) {
  return Temporal.PlainDate.from(dateOf(day)).toZonedDateTime({ timeZone: zone, plainTime: start });
}

function existingDay(date: string): number {
  const day = dayOf(date);
  if (day === null) throw new RangeError(`The calendar has no ${date}.`);
  return day;
}
