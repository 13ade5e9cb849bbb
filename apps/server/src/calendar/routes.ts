import { CALENDAR_MAX_DAYS, Calendar } from '@tidegate/protocol/calendar-api';
import { strict } from '@tidegate/protocol/scalars';
import { Schedule } from '@tidegate/protocol/windows-api';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { notValid, type Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { daysOf, type ZonedDay } from './day-rules.ts';
import { type CalendarMeans, readCalendar } from './read-calendar.ts';

const access: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };

const { zone, starts_on } = Schedule.properties;
const CalendarQuery = strict({
  from: starts_on,
  days: Type.String({ pattern: '^[1-9][0-9]?$', description: `1 to ${CALENDAR_MAX_DAYS}` }),
  zone,
});

/** The calendar: windows, blackouts and ends of a time, what ran and what is due. */
export function mountCalendar(routes: Routes, means: CalendarMeans): void {
  routes.operator({
    ...{ method: 'GET', url: '/api/v1/calendar', access },
    schema: {
      summary: 'Windows, blackouts and ends on these days of a time zone, what ran on them and what is due',
      tags: ['calendar'],
      querystring: CalendarQuery,
      response: { 200: Calendar },
    },
    handler: async ({ query }) => readCalendar(means, { days: askedDays(query), zone: query.zone }),
  });
}

/** Throws a Refusal where the zone, the date or the number of days is none. */
function askedDays({ from, days, zone: asked }: { from: string; days: string; zone: string }): ZonedDay[] {
  const count = Number(days);
  if (count > CALENDAR_MAX_DAYS) throw refused('days', `must be between 1 and ${CALENDAR_MAX_DAYS}`);
  const known = daysOrNull({ from: '1970-01-01', count: 1, zone: asked });
  if (known === null)
    throw refused('zone', 'must be a time zone of the IANA database, such as Europe/Berlin');
  const found = daysOrNull({ from, count, zone: asked });
  if (found === null) throw refused('from', 'must be a date of the calendar');
  return found;
}

function daysOrNull(asked: Parameters<typeof daysOf>[0]): ZonedDay[] | null {
  try {
    return daysOf(asked);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

function refused(member: string, message: string): Refusal {
  return notValid([{ path: `querystring/${member}`, message }], 'querystring');
}
