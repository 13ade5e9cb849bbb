import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { isolated } from '@tidegate/protocol/isolated';
import { useListSearch } from '../api/list-search.ts';
import { oneQuery } from '../api/queries.ts';
import { dateIn, longDate } from '../calendar/calendar-rules.ts';
import { ownZone } from '../policies/window-times.tsx';
import { Button } from '../ui/button.tsx';
import { plusDays } from '../ui/day-rules.ts';
import { Field } from '../ui/field.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { Page } from '../ui/page.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { useNow } from '../ui/time.tsx';
import { DifferenceOf, InstalledThen } from './past-lists.tsx';
import { Timeline } from './timeline.tsx';
import { daysBack, ENTRY_KINDS, type EntryKind, endOfPastDay } from './timeline-rules.ts';

const FILTERS = ['on', 'with', 'days', 'kind', 'q', 'ecosystem'] as const;
const PERIODS = { 1: 'since yesterday', 30: 'last 30 days', 90: 'last 90 days', 180: 'last 180 days' };
const DAYS = 7;
const DAYS_MAX = 180;

/** What happened on a host, what it had on a day, and what differs between two days. */
export function HistoryPage() {
  const { id = '' } = useParams({ strict: false });
  // Remounts for another host, so that nothing of the previous one stays on screen.
  return <HistoryOf key={id} id={id} />;
}

function HistoryOf({ id }: { id: string }) {
  const { data: host } = useQuery(oneQuery<AgentItem>('hosts', `/api/v1/agents/${encodeURIComponent(id)}`));
  const { filter, setFilter, clearFilter } = useListSearch(FILTERS);
  const today = dateIn(useNow(), ownZone());
  const name = host?.hostname ?? 'a host';
  const on = dayIn(filter.on, today);
  const compared = dayIn(filter.with, today);
  const [first, last] = [on, compared].filter((day) => day !== undefined).toSorted();
  const title =
    first !== undefined && last !== undefined
      ? `What changed from ${longDate(first)} to ${longDate(last)}`
      : on !== undefined
        ? `What was installed on ${longDate(on)}`
        : null;
  const from = first === undefined ? undefined : (endOfPastDay(first, today) ?? daysBack(today, 0));

  return (
    <Page
      title={`History of ${isolated(name)}`}
      lead={
        <Link to="/hosts/$id" params={{ id }}>
          Back to <bdi>{name}</bdi>
        </Link>
      }
    >
      <div className="space-y-4">
        <section
          aria-label="Look back"
          className="flex flex-wrap items-end gap-3 rounded-xl border border-line bg-surface px-4 py-3"
        >
          <DayField
            label="What was installed on"
            day={on}
            today={today}
            onDay={(day) => setFilter({ on: day })}
          />
          {on !== undefined && (
            <>
              <DayField
                label="Compare with"
                day={compared}
                today={today}
                onDay={(day) => setFilter({ with: day })}
              />
              <Button onClick={() => clearFilter()}>Back to the timeline</Button>
            </>
          )}
        </section>
        {title !== null && <h2 className="font-semibold">{title}</h2>}
        {from !== undefined && last !== undefined && title !== null && (
          <DifferenceOf id={id} from={from} to={endOfPastDay(last, today)} label={title} />
        )}
        {on !== undefined && last === undefined && title !== null && (
          <InstalledThen id={id} at={endOfPastDay(on, today)} label={title} />
        )}
        {on === undefined && (
          <section className="rounded-xl border border-line bg-surface">
            <div className="flex flex-wrap items-end gap-2 border-b border-line px-3 py-2.5">
              <FilterSelect
                label="Period"
                value={filter.days}
                choices={PERIODS}
                any={`last ${DAYS} days`}
                onChoose={(days) => setFilter({ days })}
              />
              <FilterSelect
                label="Kind"
                value={filter.kind}
                choices={ENTRY_KINDS}
                onChoose={(kind) => setFilter({ kind })}
              />
              <SearchBox
                label="Package name"
                value={filter.q ?? ''}
                onSearch={(text) => setFilter({ q: text || undefined })}
              />
            </div>
            <Timeline
              id={id}
              since={daysBack(today, daysOf(filter.days))}
              kind={kindOf(filter.kind)}
              q={filter.q}
              clear={filter.kind === undefined && filter.q === undefined ? null : clearFilter}
            />
          </section>
        )}
      </div>
    </Page>
  );
}

function DayField({
  label,
  day,
  today,
  onDay,
}: {
  label: string;
  day: string | undefined;
  today: string;
  onDay: (day: string | undefined) => void;
}) {
  return (
    <div className="w-full sm:w-48">
      <Field
        label={label}
        type="date"
        value={day ?? ''}
        min={plusDays(today, -DAYS_MAX)}
        max={today}
        onChange={({ target }) => onDay(target.value === '' ? undefined : target.value)}
      />
    </div>
  );
}

/** A day of the URL: no later than today. */
function dayIn(text: string | undefined, today: string): string | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text)))
    return undefined;
  return text > today ? today : text;
}

function daysOf(text: string | undefined): number {
  const days = Number(text ?? DAYS);
  return Number.isInteger(days) && days > 0 && days <= DAYS_MAX ? days : DAYS;
}

function kindOf(text: string | undefined): EntryKind | undefined {
  return Object.keys(ENTRY_KINDS).find((kind): kind is EntryKind => kind === text);
}
