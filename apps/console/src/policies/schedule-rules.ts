import { counted } from '@tidegate/protocol/count-words';
import type { PolicyWindow, WindowAction, WindowTimes } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { listed } from '../updates/update-words.ts';

/** How the form offers a recurrence; `rule` is an iCalendar rule as text. */
export type Recurs = 'once' | 'daily' | 'weekly' | 'monthly' | 'rule';

export const RECURS: Readonly<Record<Recurs, string>> = {
  once: 'once',
  daily: 'every day',
  weekly: 'on certain weekdays',
  monthly: 'on one weekday of each month',
  rule: 'by an iCalendar rule',
};

export const RECUR_KEYS = ['once', 'daily', 'weekly', 'monthly', 'rule'] as const satisfies readonly Recurs[];

export const WEEKDAYS = {
  MO: 'Monday',
  TU: 'Tuesday',
  WE: 'Wednesday',
  TH: 'Thursday',
  FR: 'Friday',
  SA: 'Saturday',
  SU: 'Sunday',
} as const;
export type Weekday = keyof typeof WEEKDAYS;
export const WEEKDAY_KEYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const satisfies readonly Weekday[];

export const NTHS = {
  1: 'first',
  2: 'second',
  3: 'third',
  4: 'fourth',
  5: 'fifth',
  '-1': 'last',
} as const;
export type Nth = `${keyof typeof NTHS}`;
export const NTH_KEYS = ['1', '2', '3', '4', '5', '-1'] as const satisfies readonly Nth[];

/** What the form shows of a recurrence; `rule` is kept while another choice is made. */
export interface Recurrence {
  readonly recurs: Recurs;
  readonly weekdays: readonly Weekday[];
  readonly nth: Nth;
  readonly rule: string;
}

const NONE: Recurrence = { recurs: 'once', weekdays: [], nth: '1', rule: '' };

/** The choice that says the same as a rule; the rule itself where no choice does. */
export function recurrenceOf(rrule: string | null): Recurrence {
  if (rrule === null) return NONE;
  if (rrule === 'FREQ=DAILY') return { ...NONE, recurs: 'daily' };
  const [, weekly] = /^FREQ=WEEKLY;BYDAY=([A-Z,]+)$/.exec(rrule) ?? [];
  const days = weekly?.split(',') ?? [];
  const weekdays = WEEKDAY_KEYS.filter((day) => days.includes(day));
  if (weekly !== undefined && weekdays.length === days.length) return { ...NONE, recurs: 'weekly', weekdays };
  const [, number, day] = /^FREQ=MONTHLY;BYDAY=(-?\d)([A-Z]{2})$/.exec(rrule) ?? [];
  const nth = NTH_KEYS.find((one) => one === number);
  const weekday = WEEKDAY_KEYS.find((one) => one === day);
  if (nth && weekday) return { ...NONE, recurs: 'monthly', nth, weekdays: [weekday] };
  return { ...NONE, recurs: 'rule', rule: rrule };
}

/** The rule of a choice; null: once. */
export function rruleOf({ recurs, weekdays, nth, rule }: Recurrence): string | null {
  switch (recurs) {
    case 'once':
      return null;
    case 'daily':
      return 'FREQ=DAILY';
    case 'weekly':
      return `FREQ=WEEKLY;BYDAY=${weekdays.join(',')}`;
    case 'monthly':
      return `FREQ=MONTHLY;BYDAY=${nth}${weekdays[0] ?? 'MO'}`;
    case 'rule':
      return rule.trim();
  }
}

/** `on the second Tuesday of each month at 22:00 (Europe/Berlin), for 4 h`. */
export function scheduleText(schedule: Schedule): string {
  const { start, zone, duration_minutes: minutes, except = [] } = schedule;
  const without = except.length > 0 ? `, without ${counted(except.length, 'date')}` : '';
  return `${datesText(schedule)} at ${start} (${zone}), for ${minutesText(minutes)}${without}`;
}

/** What windows are for, as a part of a sentence. */
export const ACTIONS: Readonly<Record<WindowAction, string>> = {
  install: 'installing',
  restart_services: 'restarting services',
  reboot: 'rebooting',
  update_agent: 'updating the agent',
};

/** `for installing and rebooting` */
export const actionsText = (actions: readonly WindowAction[]): string =>
  `for ${listed(actions.map((one) => ACTIONS[one]))}`;

/** A window with what it is for, where it says it. */
export function windowText(window: PolicyWindow): string {
  const { actions, catch_up_hours: hours } = window;
  const caughtUp = hours === undefined ? '' : `, and ${hours} h for hosts that missed it`;
  const only = actions ? `, only ${actionsText(actions)}` : '';
  return `${scheduleText(window)}${caughtUp}${only}`;
}

/** When a policy runs, in one line. */
export function windowsText(windows: readonly PolicyWindow[]): string {
  const [first, ...more] = windows;
  if (!first) return 'at any time';
  return more.length === 0
    ? windowText(first)
    : `${windowText(first)}, and ${counted(more.length, 'more window')}`;
}

function datesText({ rrule, starts_on: startsOn }: Schedule): string {
  const { recurs, weekdays, nth, rule } = recurrenceOf(rrule);
  const days = weekdays.map((day) => WEEKDAYS[day]);
  switch (recurs) {
    case 'once':
      return `once, on ${startsOn}`;
    case 'daily':
      return 'every day';
    case 'weekly':
      return `every ${listed(days)}`;
    case 'monthly':
      return `on the ${NTHS[nth]} ${listed(days)} of each month`;
    case 'rule':
      return `by the rule ${rule}`;
  }
}

const HOUR = 60;
const DAY = 24 * HOUR;

/** `45 min`, `4 h`, `1 h 30 min`, `2 d`. */
export function minutesText(minutes: number): string {
  const parts = [
    [Math.floor(minutes / DAY), 'd'],
    [Math.floor((minutes % DAY) / HOUR), 'h'],
    [minutes % HOUR, 'min'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** `Tue, 10 Nov 2026, 22:00` in a time zone; null where this browser does not know the zone. */
export function wallTime(at: string, zone: string): string | null {
  try {
    return formatIn(zone).format(new Date(at));
  } catch (error) {
    // The server's time zones may be newer than the browser's.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function formatIn(timeZone: string) {
  return new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  });
}

/** The time zone of the schedule that a window comes from: of those as long as it, the one that starts at its wall time. */
export function zoneOf(
  window: Pick<WindowTimes, 'opens_at' | 'closes_at'>,
  schedules: readonly Schedule[],
): string {
  const minutes = (Date.parse(window.closes_at) - Date.parse(window.opens_at)) / 60_000;
  const asLong = schedules.filter(({ duration_minutes: one }) => one === minutes);
  const exact = asLong.find(({ zone, start }) => wallTime(window.opens_at, zone)?.endsWith(start));
  // A start that the clocks skip is not at its wall time.
  return (exact ?? asLong[0] ?? schedules[0])?.zone ?? 'UTC';
}
