import type { CalendarDay, CalendarEntry, CalendarRun } from '@tidegate/protocol/calendar-api';
import { TONES } from '../ui/badge.tsx';
import { entriesOn, lanesOf, oddHours, ranText } from './calendar-rules.ts';
import { LOOKS } from './entry-looks.tsx';
import { clockIn, otherZone, partOfDay, placeOf, spanText, subjectOf } from './entry-rules.ts';

const HOUR_MS = 3_600_000;
/** Hours between two lines. */
const LINES_HOURS = 6;
/** Least height of a block in percent of the day: one line of text. */
const HEIGHT_MIN = 4;

/** A day of the week: what lasts stands at its hours, moments stand above. The day is as long as its hours. */
export function WeekCell(props: {
  day: CalendarDay;
  entries: readonly CalendarEntry[];
  ran: readonly CalendarRun[];
  zone: string;
}) {
  const { day, entries, ran, zone } = props;
  const [startMs, endMs] = [Date.parse(day.starts_at), Date.parse(day.ends_at)];
  const own = entriesOn(day, entries);
  const lasting = own
    .filter(({ kind }) => kind === 'window' || kind === 'blackout')
    .map((entry) => ({
      entry,
      startMs: Math.max(startMs, Date.parse(entry.starts_at)),
      endMs: Math.min(endMs, Date.parse(entry.ends_at)),
    }));
  const moments = own.filter(({ kind }) => kind !== 'window' && kind !== 'blackout');
  const { lanes, count } = lanesOf(lasting);
  const percent = (ms: number) => (100 * ms) / (endMs - startMs);
  const hours = oddHours(day);
  const said = ranText(ran);
  return (
    // Hours are at the same height on each day, whatever stands above them.
    <div className="flex flex-1 flex-col text-[0.83rem] leading-5">
      <div className="min-h-12 flex-1 space-y-0.5">
        {hours !== null && <p className="text-muted">{hours} hours</p>}
        {moments.map((entry) => (
          <Moment key={`${entry.kind} ${entry.id} ${entry.starts_at}`} {...{ entry, day, zone }} />
        ))}
        {said && <p className="text-muted">{said}</p>}
      </div>
      <div className="relative h-120 border-t border-line">
        {linesOf(startMs, endMs, zone).map(({ atMs, text }) => (
          <div
            key={atMs}
            aria-hidden="true"
            className="absolute inset-x-0 border-t border-line text-[0.72rem] leading-3 text-muted"
            style={{ top: `${percent(atMs - startMs)}%` }}
          >
            {text}
          </div>
        ))}
        {lasting.map((one, i) => (
          <div
            key={`${one.entry.id} ${one.entry.starts_at} ${one.entry.zone}`}
            className={`absolute overflow-hidden rounded border border-current/30 px-1 ${TONES[LOOKS[one.entry.kind].tone]}`}
            style={{
              top: `${percent(one.startMs - startMs)}%`,
              height: `${Math.max(HEIGHT_MIN, percent(one.endMs - one.startMs))}%`,
              left: `${(100 * (lanes[i] ?? 0)) / count}%`,
              width: `${100 / count}%`,
            }}
          >
            <Block entry={one.entry} day={day} zone={zone} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Block({ entry, day, zone }: { entry: CalendarEntry; day: CalendarDay; zone: string }) {
  const { date } = day;
  const { icon, word } = LOOKS[entry.kind];
  const other = otherZone(entry);
  return (
    <>
      <p className="flex items-center gap-1 font-medium">
        <span aria-hidden="true" className="shrink-0 [&>svg]:size-3">
          {icon}
        </span>
        <span className="sr-only">{word}</span>
        {Date.parse(entry.starts_at) < Date.parse(day.starts_at) && (
          <span className="shrink-0 font-normal">{partOfDay(entry, day, zone)}</span>
        )}
        <span className="truncate">{entry.name}</span>
      </p>
      <p className="tabular-nums">{spanText(entry, zone, date)}</p>
      {other !== zone && (
        <p className="tabular-nums">
          {spanText(entry, other, date)} {placeOf(other)}
        </p>
      )}
    </>
  );
}

function Moment({ entry, day, zone }: { entry: CalendarEntry; day: CalendarDay; zone: string }) {
  const { tone, icon, word } = LOOKS[entry.kind];
  return (
    <p className={`flex flex-wrap items-center gap-x-1 rounded px-1 ${TONES[tone]}`}>
      <span aria-hidden="true" className="[&>svg]:size-3">
        {icon}
      </span>
      <span>{word}</span>
      <span className="tabular-nums">{partOfDay(entry, day, zone)}</span>
      <span className="font-medium wrap-anywhere">{subjectOf(entry)}</span>
    </p>
  );
}

/** The lines of a day, at the hours that its clocks show. */
function linesOf(startMs: number, endMs: number, zone: string): { atMs: number; text: string }[] {
  const lines: { atMs: number; text: string }[] = [];
  for (let atMs = startMs + HOUR_MS; atMs < endMs; atMs += HOUR_MS) {
    const text = clockIn(new Date(atMs).toISOString(), zone) ?? '';
    const [hour = 0, minute = 0] = text.split(':').map(Number);
    if (hour % LINES_HOURS === 0 && hour > 0 && minute === 0) lines.push({ atMs, text });
  }
  return lines;
}
