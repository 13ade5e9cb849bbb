import type { Calendar, CalendarEntry } from '@tidegate/protocol/calendar-api';
import { longDate, startingOn } from './calendar-rules.ts';
import { DayEntries } from './day-entries.tsx';

/** The days that have something, and today. */
export function Agenda(props: {
  calendar: Calendar;
  today: string;
  zone: string;
  onChange: ((entry: CalendarEntry) => void) | null;
}) {
  const { calendar, today, zone, onChange } = props;
  const ran = Map.groupBy(calendar.ran, ({ date }) => date);
  const days = startingOn(calendar.days, calendar.entries).filter(
    ({ day: { date }, entries }) => entries.length > 0 || ran.has(date) || date === today,
  );
  if (days.length === 0) return <p className="p-4 text-muted">Nothing in these four weeks.</p>;
  return (
    <div className="divide-y divide-line">
      {days.map(({ day, entries }) => (
        <section key={day.date} className="px-4 py-2">
          <h2 className="font-semibold">
            {longDate(day.date)}
            {day.date === today && <span className="font-normal text-muted"> · today</span>}
          </h2>
          <DayEntries {...{ day, entries, zone, onChange, ran: ran.get(day.date) ?? [] }} />
        </section>
      ))}
    </div>
  );
}
