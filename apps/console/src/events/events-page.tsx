import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { type ListedPage, listQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { Fold } from '../ui/fold.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { type EventRow, rowsOfAlike } from './alike-rules.ts';
import { EVENT_COLUMNS } from './event-columns.tsx';
import { EVENT_FILTERS, EventFilters } from './event-filters.tsx';
import type { EventItem } from './event-item.ts';
import { EventText } from './event-text.tsx';
import { EvidenceDialog } from './evidence-dialog.tsx';
import { RemovedNote } from './removed-note.tsx';
import { VerifyPanel } from './verify-panel.tsx';

const SHORT = 10;

const COLUMNS: readonly Column<EventRow>[] = [
  {
    id: 'created_at',
    header: 'When',
    sort: 'created_at',
    sortFirst: 'descending',
    cell: (event) => <When event={event} />,
  },
  ...EVENT_COLUMNS.map((column) =>
    column.id === 'text'
      ? {
          ...column,
          cell: (event: EventRow) => (
            <>
              <EventText event={event} />
              {event.alike.length > 0 && <Alike events={event.alike} />}
            </>
          ),
        }
      : column,
  ),
  {
    id: 'host',
    header: 'Host',
    cell: ({ agent_id: id, hostname }) =>
      id === null ? (
        <None word="–" />
      ) : (
        <Link
          to="/hosts/$id"
          params={{ id }}
          title={id}
          className={hostname === null ? 'mono' : 'break-words'}
        >
          {hostname ?? `${id.slice(0, SHORT)}…`}
        </Link>
      ),
  },
];

/** The event log, a hash chain: each event contains the hash of the previous one. */
export function EventsPage() {
  const list = useListSearch(EVENT_FILTERS);
  const query = useQuery({
    ...listQuery<EventItem>('events', '/api/v1/events', list.query),
    select: inRows,
  });
  const [isAsking, setAsking] = useState(false);
  return (
    <Page
      title="Events"
      lead="Everything that happened, the newest first. Nobody can change it later without being noticed."
      actions={<Button onClick={() => setAsking(true)}>Evidence for an auditor</Button>}
    >
      <ListTable
        list={list}
        query={query}
        noun="events"
        empty={<EmptyState title="Nothing has happened yet" />}
        toolbar={<EventFilters list={list} />}
        label="Events"
        columns={COLUMNS}
        rowId={idOf}
        order="-created_at"
      />
      <RemovedNote />
      <VerifyPanel />
      {isAsking && <EvidenceDialog onClose={() => setAsking(false)} />}
    </Page>
  );
}

const idOf = (event: EventRow) => event.id;
const inRows = (page: ListedPage<EventItem>): ListedPage<EventRow> => ({
  ...page,
  items: rowsOfAlike(page.items),
});

function When({ event: { id, created_at: at } }: { event: EventItem }) {
  return (
    <Link to="/events/$id" params={{ id }}>
      <Time at={at} />
    </Link>
  );
}

/** The events that say the same, each with its time and its own page. */
function Alike({ events }: { events: readonly EventItem[] }) {
  return (
    <Fold summary={<span className="text-[0.88rem]">{events.length.toLocaleString('en')} more like it</span>}>
      <ul aria-label="Events that say the same" className="px-1">
        {events.map((event) => (
          <li key={event.id} className="flex min-h-7 items-center">
            <When event={event} />
          </li>
        ))}
      </ul>
    </Fold>
  );
}
