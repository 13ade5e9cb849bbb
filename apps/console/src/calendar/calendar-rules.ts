import type { CalendarDay, CalendarEntry, CalendarRun } from '@tidegate/protocol/calendar-api';
import { counted } from '@tidegate/protocol/count-words';
import { plusDays } from '../ui/day-rules.ts';

export const CALENDAR = '/api/v1/calendar';

export const VIEWS = ['month', 'week', 'agenda'] as const;
export type View = (typeof VIEWS)[number];

const MONTH_GRID_DAYS = 42;
const AGENDA_DAYS = 28;

/** Dates are counted in UTC, where each day has 24 hours. */
const utc = (date: string): number => Date.parse(`${date}T00:00:00Z`);
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Days since Monday. */
const weekday = (date: string): number => (new Date(utc(date)).getUTCDay() + 6) % 7;

export const mondayOf = (date: string): string => plusDays(date, -weekday(date));

/** The days that a view shows for a day. */
export function rangeOf(view: View, date: string): { from: string; days: number } {
  switch (view) {
    case 'month':
      return { from: mondayOf(`${date.slice(0, 8)}01`), days: MONTH_GRID_DAYS };
    case 'week':
      return { from: mondayOf(date), days: 7 };
    case 'agenda':
      return { from: date, days: AGENDA_DAYS };
  }
}

/** The day that is shown after a step to the next (1) or the previous (-1) month, week or stretch. */
export function stepped(view: View, date: string, step: 1 | -1): string {
  if (view !== 'month') return plusDays(date, step * rangeOf(view, date).days);
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  const lastDay = new Date(Date.UTC(year, month + step, 0)).getUTCDate();
  return dateOf(Date.UTC(year, month - 1 + step, Math.min(day, lastDay)));
}

/** Where an arrow key, Home or End leads in a grid of weeks; null for other keys. */
export function dayAfterKey(date: string, key: string): string | null {
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 },
    ...{ Home: -weekday(date), End: 6 - weekday(date) },
  };
  const step = steps[key];
  return step === undefined ? null : plusDays(date, step);
}

/** The date of a moment in a time zone. */
export function dateIn(ms: number, zone: string): string {
  return datesIn(zone)(ms);
}

/** The same for many moments: a formatter takes longer to make than to use. */
export function datesIn(zone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  return (ms) => {
    const parts = format.formatToParts(ms);
    const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
    return `${part('year')}-${part('month')}-${part('day')}`;
  };
}

/** `Wednesday, 25 November 2026`; the date is of no time zone. */
export function longDate(date: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'full' })
    .format(utc(date))
    .replace(/^(\w+) /, '$1, ');
}

export function titleOf(view: View, date: string): string {
  const of = (options: Intl.DateTimeFormatOptions, at: string) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options }).format(utc(at));
  if (view === 'month') return of({ month: 'long', year: 'numeric' }, date);
  const { from, days } = rangeOf(view, date);
  const short = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  return `${of(short, from)} to ${of(short, plusDays(from, days - 1))}`;
}

/** The entries of a day: what overlaps it. */
export function entriesOn(day: CalendarDay, entries: readonly CalendarEntry[]): CalendarEntry[] {
  const [startMs, endMs] = [Date.parse(day.starts_at), Date.parse(day.ends_at)];
  return entries.filter((entry) => {
    const [fromMs, toMs] = [Date.parse(entry.starts_at), Date.parse(entry.ends_at)];
    // A moment lasts no time.
    return fromMs < endMs && (toMs > startMs || (toMs === fromMs && fromMs === startMs));
  });
}

/** The entries of an agenda by day: each once, on the day on which it starts, or the first day if it began before. */
export function startingOn(
  days: readonly CalendarDay[],
  entries: readonly CalendarEntry[],
): { day: CalendarDay; entries: CalendarEntry[] }[] {
  return days.map((day, i) => ({
    day,
    entries: entriesOn(day, entries).filter(
      ({ starts_at: at }) => i === 0 || Date.parse(at) >= Date.parse(day.starts_at),
    ),
  }));
}

/** Hours of a day that does not have 24; null for the others. */
export function oddHours({ starts_at, ends_at }: CalendarDay): number | null {
  const hours = (Date.parse(ends_at) - Date.parse(starts_at)) / 3_600_000;
  return hours === 24 ? null : hours;
}

/** `12 installed, 1 failed` of all that ran on a day; null if nothing did. */
export function ranText(runs: readonly CalendarRun[]): string | null {
  const sum = (of: (run: CalendarRun) => number) => runs.reduce((total, run) => total + of(run), 0);
  const parts = [
    [sum(({ installed }) => installed), 'installed'],
    [sum(({ failed }) => failed), 'failed'],
    [sum(({ refused }) => refused), 'refused'],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  if (said.length > 0) return said.join(', ');
  const approved = sum((run) => run.approved ?? 0);
  return approved > 0 ? `${approved} approved` : null;
}

/** What one policy, or people, did on a day. */
export function runText({ approved, installed, failed, refused }: CalendarRun): string {
  const parts = [
    ...(approved ? [`${counted(approved, 'update')} approved`] : []),
    ...(installed + failed + refused > 0 ? [`${counted(installed, 'installation')} succeeded`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(refused > 0 ? [`${refused} refused by the host`] : []),
  ];
  return parts.join(', ');
}

/** Puts what overlaps beside each other: the column of each, and how many columns there are. */
export function lanesOf(spans: readonly { startMs: number; endMs: number }[]): {
  lanes: number[];
  count: number;
} {
  const ends: number[] = [];
  const lanes = spans.map(({ startMs, endMs }) => {
    const free = ends.findIndex((end) => end <= startMs);
    const lane = free === -1 ? ends.length : free;
    ends[lane] = endMs;
    return lane;
  });
  return { lanes, count: Math.max(1, ends.length) };
}
