import type { CalendarDay, CalendarEntry } from '@tidegate/protocol/calendar-api';
import { counted } from '@tidegate/protocol/count-words';
import { dateIn } from './calendar-rules.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** `22:00` in a time zone; null where this browser does not know the zone. */
export function clockIn(at: string, zone: string): string | null {
  try {
    const known = formats.get(zone);
    const format =
      known ??
      new Intl.DateTimeFormat('en-GB', {
        ...{ timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
      });
    if (!known) formats.set(zone, format);
    return format.format(new Date(at));
  } catch (error) {
    // The server's time zones may be newer than the browser's.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

type Span = Pick<CalendarEntry, 'starts_at' | 'ends_at'>;

/** When an entry is, in a time zone: dates stand beside the times where they are not those of `date`. */
export function spanText({ starts_at, ends_at }: Span, zone: string, date: string): string | null {
  const [from, to] = [clockIn(starts_at, zone), clockIn(ends_at, zone)];
  if (from === null || to === null) return null;
  const [fromDate, toDate] = [dateIn(Date.parse(starts_at), zone), dateIn(Date.parse(ends_at), zone)];
  const on = (day: string) => (day === date ? '' : ` on ${shortDate(day)}`);
  if (starts_at === ends_at) return from + on(fromDate);
  return `${from}${fromDate === toDate ? '' : on(fromDate)} to ${to}${on(toDate)}`;
}

/** `26 Nov` */
function shortDate(date: string): string {
  const at = Date.parse(`${date}T00:00:00Z`);
  return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' }).format(at);
}

/** The part of a day that an entry takes, in few letters: `22:00`, `until 06:00`, `all day`. */
export function partOfDay({ starts_at, ends_at }: Span, day: CalendarDay, zone: string): string {
  const startsBefore = Date.parse(starts_at) < Date.parse(day.starts_at);
  const endsAfter = Date.parse(ends_at) >= Date.parse(day.ends_at);
  if (startsBefore && endsAfter) return 'all day';
  if (startsBefore) return `until ${clockIn(ends_at, zone) ?? ends_at}`;
  return clockIn(starts_at, zone) ?? starts_at;
}

/** The zone that is shown beside the reader's: that of the schedule, else UTC. */
export const otherZone = ({ zone }: Pick<CalendarEntry, 'zone'>): string => zone ?? 'UTC';

/** `Buenos Aires` of `America/Argentina/Buenos_Aires`. */
export const placeOf = (zone: string): string => (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');

/** What an entry is about, without its time. */
export function subjectOf({ kind, name, count }: CalendarEntry): string {
  switch (kind) {
    case 'window':
    case 'blackout':
      return name;
    case 'policy_ends':
    case 'hold_ends':
      return name;
    case 'approvals_begin':
    case 'approvals_expire':
      return counted(count ?? 0, 'approval');
  }
}
