import { RRuleTemporal } from 'rrule-temporal';
import { Temporal } from '../platform/temporal.ts';

export const DAY_MS = 86_400_000;
/** Largest INTERVAL, in periods of FREQ. */
export const INTERVAL_MAX = 366;
/** Largest COUNT; UNTIL names any later end. */
export const COUNT_MAX = 366;
/** Largest number before a weekday, and in BYSETPOS. */
const NTH_WEEKDAY_MAX = 5;
const SET_POSITION_MAX = 366;
/** How far a search goes for the next date. 29 February on one weekday returns after 40 years at most. */
export const SEARCH_YEARS = 40;
/** Days that one question to the library covers: its answers stay short. */
const FIRST_STRETCH_DAYS = 32;
const STRETCH_MAX_DAYS = 366;
/** COUNTs whose last date is remembered. */
const LAST_DAYS_KEPT = 10_000;

const FREQUENCIES = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
const PARTS = ['FREQ', 'INTERVAL', 'BYMONTH', 'BYMONTHDAY', 'BYDAY', 'BYSETPOS', 'WKST', 'COUNT', 'UNTIL'];
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

/** A recurrence of dates as RFC 5545 (3.3.10) describes it, without the parts that name times. */
export interface Recurrence {
  freq: (typeof FREQUENCIES)[number];
  interval: number;
  byMonth?: number[];
  byMonthDay?: number[];
  byDay?: string[];
  bySetPos?: number[];
  wkst: string;
  count?: number;
  /** Days since 1970. */
  untilDay?: number;
}

/** The days since 1970 of a date such as `2027-03-28`; null if the calendar has no such date. */
export function dayOf(date: string): number | null {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(ms) || dateOf(ms / DAY_MS) !== date ? null : ms / DAY_MS;
}

export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, -14);
}

/** Reads a rule. Returns a sentence that says what is wrong and what is allowed if it is not one. */
export function parseRecurrence(rrule: string): Recurrence | string {
  if (!/^[A-Z0-9=;,+-]+$/.test(rrule)) {
    return 'A rule is written in capital letters, without spaces and without "RRULE:", such as FREQ=WEEKLY;BYDAY=TU.';
  }
  const parts = new Map<string, string>();
  for (const part of rrule.split(';')) {
    const [, name = part, value = ''] = /^([^=]*)=([^=]+)$/.exec(part) ?? [];
    if (!PARTS.includes(name) || value === '') {
      return `"${part}" is not a part of a rule of dates. Allowed are ${PARTS.join(', ')}, each with "=" and a value.`;
    }
    if (parts.has(name)) return `${name} is given twice.`;
    parts.set(name, value);
  }
  return readParts(parts);
}

function readParts(parts: ReadonlyMap<string, string>): Recurrence | string {
  const freq = FREQUENCIES.find((one) => one === parts.get('FREQ'));
  if (freq === undefined) return `A rule needs FREQ with one of ${FREQUENCIES.join(', ')}.`;
  const interval = numbers(parts.get('INTERVAL') ?? '1', { max: INTERVAL_MAX });
  if (interval?.length !== 1) return `INTERVAL is a number from 1 to ${INTERVAL_MAX}.`;
  const wkst = parts.get('WKST') ?? 'MO';
  if (!WEEKDAYS.includes(wkst)) return `WKST is one of ${WEEKDAYS.join(', ')}.`;
  const recurrence: Recurrence = { freq, interval: interval[0] ?? 1, wkst };
  return readDays(parts, recurrence) ?? readEnd(parts, recurrence) ?? recurrence;
}

/** Returns what is wrong with the parts that choose days; null after filling them in. */
function readDays(parts: ReadonlyMap<string, string>, recurrence: Recurrence): string | null {
  const { freq } = recurrence;
  const month = parts.get('BYMONTH');
  if (month !== undefined) {
    const read = numbers(month, { max: 12 });
    if (read === null) return 'BYMONTH lists months from 1 to 12.';
    recurrence.byMonth = read;
  }
  const monthDay = parts.get('BYMONTHDAY');
  if (monthDay !== undefined) {
    if (freq === 'WEEKLY') return 'BYMONTHDAY does not go with FREQ=WEEKLY. Use DAILY, MONTHLY or YEARLY.';
    const read = numbers(monthDay, { max: 31, signed: true });
    if (read === null) return 'BYMONTHDAY lists days from 1 to 31, or from -1 (the last) to -31.';
    recurrence.byMonthDay = read;
  }
  const day = parts.get('BYDAY');
  if (day !== undefined) {
    const fault = readWeekdays(day, recurrence);
    if (fault !== null) return fault;
  }
  const position = parts.get('BYSETPOS');
  if (position === undefined) return null;
  const read = numbers(position, { max: SET_POSITION_MAX, signed: true });
  if (read === null) {
    return `BYSETPOS lists positions from 1 to ${SET_POSITION_MAX}, or from -1 (the last) to -${SET_POSITION_MAX}.`;
  }
  if (freq === 'DAILY' || freq === 'WEEKLY') {
    return `BYSETPOS does not go with FREQ=${freq}. Use MONTHLY or YEARLY.`;
  }
  if (!recurrence.byMonth && !recurrence.byMonthDay && !recurrence.byDay) {
    return 'BYSETPOS needs BYDAY, BYMONTHDAY or BYMONTH to choose from.';
  }
  recurrence.bySetPos = read;
  return null;
}

function readWeekdays(text: string, recurrence: Recurrence): string | null {
  const days = text.split(',');
  const found = days.map((one) => /^([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)$/.exec(one));
  if (found.includes(null)) {
    return `BYDAY lists weekdays (${WEEKDAYS.join(', ')}), each with a number from 1 to ${NTH_WEEKDAY_MAX} or -1 to -${NTH_WEEKDAY_MAX} before it or none.`;
  }
  const numbered = found.filter((one) => one?.[1] !== undefined).length;
  if (numbered > 0 && numbered < days.length) {
    return 'BYDAY has a number before each weekday or before none.';
  }
  if (numbered > 0 && recurrence.freq !== 'MONTHLY' && recurrence.freq !== 'YEARLY') {
    return `BYDAY has no numbers with FREQ=${recurrence.freq}. Use MONTHLY or YEARLY.`;
  }
  if (numbered > 0 && recurrence.byMonthDay) {
    return 'BYDAY has no numbers beside BYMONTHDAY. Use one or the other.';
  }
  recurrence.byDay = days.map((one) => one.replace('+', ''));
  return null;
}

/** Returns what is wrong with the end of the rule; null after filling it in. */
function readEnd(parts: ReadonlyMap<string, string>, recurrence: Recurrence): string | null {
  const until = parts.get('UNTIL');
  const count = parts.get('COUNT');
  if (until !== undefined && count !== undefined) return 'A rule has COUNT or UNTIL, not both.';
  if (until !== undefined) {
    const [, year, month, day] = /^(19[7-9]\d|20\d\d|21\d\d)(\d\d)(\d\d)$/.exec(until) ?? [];
    const untilDay = dayOf(`${year}-${month}-${day}`);
    if (untilDay === null) return 'UNTIL is a date from 1970 to 2199 without a time, such as 20271231.';
    recurrence.untilDay = untilDay;
  }
  if (count !== undefined) {
    const read = numbers(count, { max: COUNT_MAX });
    if (read?.length !== 1) return `COUNT is a number from 1 to ${COUNT_MAX}. Use UNTIL for a later end.`;
    recurrence.count = read[0] ?? 1;
  }
  return null;
}

/** Numbers from 1 to `max`, and from -1 to -`max` if `signed`; null for anything else. */
function numbers(list: string, { max, signed = false }: { max: number; signed?: boolean }): number[] | null {
  const form = signed ? /^[+-]?[1-9]\d{0,2}$/ : /^[1-9]\d{0,2}$/;
  const read = list.split(',');
  const parsed = read.map(Number);
  return read.every((one) => form.test(one)) && parsed.every((one) => Math.abs(one) <= max) ? parsed : null;
}

/**
 * Dates of the rule from `fromDay` to `toDay`, both included, in days since 1970, ascending, at most SEARCH_YEARS on.
 * The work does not grow with the distance from `startDay`.
 */
export function* recurrenceDays(
  recurrence: Recurrence,
  { startDay, fromDay, toDay }: { startDay: number; fromDay: number; toDay: number },
): Generator<number> {
  const { count, untilDay, ...pattern } = recurrence;
  const lastDay = count === undefined ? (untilDay ?? Infinity) : lastDayOfCount(recurrence, startDay);
  const rule = new RRuleTemporal({ ...pattern, dtstart: midnight(startDay), cache: false });
  let from = Math.max(fromDay, startDay);
  const to = Math.min(toDay, lastDay, from + SEARCH_YEARS * 366);
  for (let stretch = FIRST_STRETCH_DAYS; from <= to; stretch = Math.min(stretch * 2, STRETCH_MAX_DAYS)) {
    const end = Math.min(from + stretch - 1, to);
    for (const date of rule.between(new Date(from * DAY_MS), new Date(end * DAY_MS), true)) {
      yield date.epochMilliseconds / DAY_MS;
    }
    from = end + 1;
  }
}

const lastDays = new Map<string, number>();

/** The day of the last of COUNT dates. Infinity if SEARCH_YEARS do not reach it. */
export function lastDayOfCount(recurrence: Recurrence, startDay: number): number {
  const { count = 1, ...endless } = recurrence;
  const key = JSON.stringify([recurrence, startDay]);
  const known = lastDays.get(key);
  if (known !== undefined) return known;
  const days = recurrenceDays(endless, { startDay, fromDay: startDay, toDay: Infinity })
    .take(count)
    .toArray();
  const last = days.length < count ? Infinity : (days.at(-1) ?? Infinity);
  if (lastDays.size >= LAST_DAYS_KEPT) lastDays.clear();
  lastDays.set(key, last);
  return last;
}

/** Dates are computed in UTC, where each day has 24 hours. */
function midnight(day: number) {
  return Temporal.Instant.fromEpochMilliseconds(day * DAY_MS).toZonedDateTimeISO('UTC');
}
