import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Calendar, CalendarEntry } from '@tidegate/protocol/calendar-api';
import { CalendarOff } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { ownZone } from '../policies/window-times.tsx';
import { Button } from '../ui/button.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { Sideways } from '../ui/sideways.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { useNow } from '../ui/time.tsx';
import { useNarrow } from '../ui/use-narrow.ts';
import { Agenda } from './agenda.tsx';
import { CalendarBar } from './calendar-bar.tsx';
import { CalendarNotes } from './calendar-notes.tsx';
import {
  CALENDAR,
  dateIn,
  entriesOn,
  longDate,
  rangeOf,
  stepped,
  titleOf,
  VIEWS,
  type View,
} from './calendar-rules.ts';
import { DayEntries } from './day-entries.tsx';
import { DayGrid } from './day-grid.tsx';

const ChangeEntry = lazy(async () => ({ default: (await import('./change-entry.tsx')).ChangeEntry }));
const AddBlackout = lazy(async () => ({
  default: (await import('../blackouts/blackout-forms.tsx')).AddBlackout,
}));

/** The view and the day of the URL: without them an agenda on narrow windows, else the month; from today on. */
function useCalendarPlace(today: string) {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const isNarrow = useNarrow();
  const view = VIEWS.find((one) => one === search.view) ?? (isNarrow ? 'agenda' : 'month');
  const asked = typeof search.day === 'string' && /^\d{4}-\d\d-\d\d$/.test(search.day) ? search.day : today;
  const day = Number.isNaN(Date.parse(asked)) ? today : asked;
  const go = (change: { view?: View; day?: string }) =>
    void navigate({ to: '.', search: { ...search, view, day, ...change }, replace: true });
  return { view, day, go };
}

/** Windows, blackouts and ends by day, what ran and what is due, in the reader's time zone and in that of each schedule. */
export function CalendarPage() {
  const zone = ownZone();
  const today = dateIn(useNow(), zone);
  const { view, day, go } = useCalendarPlace(today);
  const { may } = useSession();
  const mayChange = may('approver');
  const [changing, setChanging] = useState<CalendarEntry | null>(null);
  const [frozen, setFrozen] = useState<string | null>(null);
  const { from, days } = rangeOf(view, day);
  const query = useQuery({
    ...oneQuery<Calendar>('updates', CALENDAR, { from, days: String(days), zone }),
    placeholderData: keepPreviousData,
  });
  const bar = useMemo(
    () => ({
      today: () => go({ day: today }),
      step: (step: 1 | -1) => go({ day: stepped(view, day, step) }),
      show: (next: View) => go({ view: next }),
    }),
    [go, today, view, day],
  );
  const onChange = mayChange ? setChanging : null;
  const calendar = query.data;
  return (
    <Page
      title="Calendar"
      lead={`Times are in your time zone, ${zone}, and in that of each schedule.`}
      actions={
        mayChange && (
          <Button onClick={() => setFrozen(day)} icon={<CalendarOff aria-hidden="true" className="size-4" />}>
            Plan a blackout on {day === today ? 'this day' : day}
          </Button>
        )
      }
    >
      <div className="space-y-4">
        <section className="rounded-xl border border-line bg-surface" aria-busy={query.isFetching}>
          <CalendarBar title={titleOf(view, day)} view={view} bar={bar} />
          {query.error && <ErrorPanel error={query.error} retry={() => void query.refetch()} />}
          {!calendar && !query.error && (
            <Skeleton
              {...(view === 'agenda' ? { as: 'rows' } : { as: 'days', rows: view === 'week' ? 1 : 6 })}
            />
          )}
          {calendar && view === 'agenda' && <Agenda {...{ calendar, today, zone, onChange }} />}
          {calendar && view !== 'agenda' && (
            <Sideways more="days" label={titleOf(view, day)}>
              <DayGrid
                {...{ view, calendar, today, zone, selected: day, onStep: bar.step }}
                onSelect={(date) => go({ day: date })}
              />
            </Sideways>
          )}
          {calendar && <CalendarNotes calendar={calendar} />}
        </section>
        {calendar && view !== 'agenda' && (
          <Panel title={longDate(day)}>
            {calendar.days
              .filter(({ date }) => date === day)
              .map((one) => (
                <DayEntries
                  key={one.date}
                  {...{ day: one, zone, onChange, entries: entriesOn(one, calendar.entries) }}
                  ran={calendar.ran.filter(({ date }) => date === day)}
                />
              ))}
          </Panel>
        )}
      </div>
      <Suspense>
        {changing && <ChangeEntry entry={changing} onClose={() => setChanging(null)} />}
        {frozen !== null && <AddBlackout day={frozen} onClose={() => setFrozen(null)} />}
      </Suspense>
    </Page>
  );
}
