export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Hours of the days named; where `to` is not after `from` they end on the next day. */
export interface Hours {
  days: Weekday[];
  /** `HH:MM`. */
  from: string;
  /** `HH:MM`, or `24:00`. The minute itself is outside. */
  to: string;
  /** IANA name; UTC where it is left out, so that no setting of the host moves the hours. */
  time_zone?: string;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;

export function isTimeZone(name: string): boolean {
  try {
    clockOf(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false; // thrown by Intl for an unknown zone
    throw error;
  }
}

/** Whether a moment lies in one of the windows. */
export function isWithinHours(windows: readonly Hours[], nowMs: number): boolean {
  return windows.some((window) => {
    const minute = minuteOfWeek(window.time_zone, nowMs);
    const lengthMinutes = lengthOf(window);
    return startsOf(window).some((start) => (minute - start + WEEK_MINUTES) % WEEK_MINUTES < lengthMinutes);
  });
}

/** When the next window opens, for display: exact to the minute unless clocks change at that very hour. */
export function nextWindowMs(windows: readonly Hours[], nowMs: number): number {
  const thisMinuteMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const openings = windows.flatMap((window) => {
    const minute = minuteOfWeek(window.time_zone, nowMs);
    return startsOf(window).map((start) => {
      const waitMinutes = (start - minute + WEEK_MINUTES) % WEEK_MINUTES || WEEK_MINUTES;
      const guessMs = thisMinuteMs + waitMinutes * MINUTE_MS;
      // The zone may have changed its clocks by then; the guess is off by just that.
      const shown = minuteOfWeek(window.time_zone, guessMs);
      const offMinutes = ((start - shown + WEEK_MINUTES * 1.5) % WEEK_MINUTES) - WEEK_MINUTES / 2;
      return guessMs + offMinutes * MINUTE_MS;
    });
  });
  return Math.min(...openings);
}

/** Minutes of the week at which a window opens. */
function startsOf({ days, from }: Hours): number[] {
  return days.map((day) => WEEKDAYS.indexOf(day) * DAY_MINUTES + minuteOfDay(from));
}

function lengthOf({ from, to }: Hours): number {
  const minutes = minuteOfDay(to) - minuteOfDay(from);
  return minutes > 0 ? minutes : minutes + DAY_MINUTES;
}

function minuteOfDay(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

/** Local time in that zone, as minutes since Monday. */
function minuteOfWeek(timeZone: string | undefined, ms: number): number {
  const parts = clockOf(timeZone ?? 'UTC').formatToParts(ms);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? '';
  const names: readonly string[] = WEEKDAYS;
  const day = names.indexOf(part('weekday').toLowerCase());
  return day * DAY_MINUTES + Number(part('hour')) * 60 + Number(part('minute'));
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
}
