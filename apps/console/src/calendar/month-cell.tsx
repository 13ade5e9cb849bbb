import type { CalendarDay, CalendarEntry, CalendarRun } from '@tidegate/protocol/calendar-api';
import { TONES } from '../ui/badge.tsx';
import { entriesOn, oddHours, ranText } from './calendar-rules.ts';
import { LOOKS } from './entry-looks.tsx';
import { clockIn, otherZone, partOfDay, placeOf, subjectOf } from './entry-rules.ts';

/** Entries that a day of a month names; the day itself has all. */
const SHOWN_MAX = 3;

/** A day of the month: its first entries with their times in both zones, and what ran. */
export function MonthCell(props: {
  day: CalendarDay;
  entries: readonly CalendarEntry[];
  ran: readonly CalendarRun[];
  zone: string;
}) {
  const { day, entries, ran, zone } = props;
  const own = entriesOn(day, entries);
  const said = ranText(ran);
  const hours = oddHours(day);
  return (
    <div className="space-y-0.5 text-[0.83rem] leading-5">
      {hours !== null && <p className="text-muted">{hours} hours</p>}
      {own.slice(0, SHOWN_MAX).map((entry) => (
        <Chip key={`${entry.kind} ${entry.id} ${entry.starts_at} ${entry.zone}`} {...{ entry, day, zone }} />
      ))}
      {own.length > SHOWN_MAX && <p className="px-1 text-muted">{own.length - SHOWN_MAX} more</p>}
      {said && <p className="px-1 text-muted">{said}</p>}
    </div>
  );
}

function Chip({ entry, day, zone }: { entry: CalendarEntry; day: CalendarDay; zone: string }) {
  const { tone, icon, word } = LOOKS[entry.kind];
  const other = otherZone(entry);
  const theirs = other === zone ? null : clockIn(entry.starts_at, other);
  const part = partOfDay(entry, day, zone);
  const isStart = Date.parse(entry.starts_at) >= Date.parse(day.starts_at);
  return (
    <div className={`rounded px-1 ${TONES[tone]}`}>
      <p className="flex items-center gap-1">
        <span aria-hidden="true" className="shrink-0 [&>svg]:size-3">
          {icon}
        </span>
        <span className="sr-only">{word}</span>
        <span className="shrink-0 tabular-nums">{part}</span>
        <span className="truncate font-medium">{subjectOf(entry)}</span>
      </p>
      {theirs !== null && isStart && (
        <p className="truncate pl-4 tabular-nums">
          {theirs} {placeOf(other)}
        </p>
      )}
    </div>
  );
}
