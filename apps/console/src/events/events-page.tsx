import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { EventSeverityBadge } from './event-badges.tsx';
import { EVENT_FILTERS, EventFilters } from './event-filters.tsx';
import type { EventItem } from './event-item.ts';
import { EventText } from './event-text.tsx';
import { EvidenceDialog } from './evidence-dialog.tsx';
import { VerifyPanel } from './verify-panel.tsx';

const SHORT = 10;

const COLUMNS: readonly Column<EventItem>[] = [
  {
    id: 'created_at',
    header: 'When',
    sort: 'created_at',
    sortFirst: 'descending',
    cell: ({ id, created_at }) => (
      <Link to="/events/$id" params={{ id }}>
        <Time at={created_at} />
      </Link>
    ),
  },
  { id: 'severity', header: 'Severity', cell: (event) => <EventSeverityBadge severity={event.severity} /> },
  { id: 'text', header: 'What happened', wide: true, cell: (event) => <EventText event={event} /> },
  {
    id: 'host',
    header: 'Host',
    cell: ({ agent_id: id, hostname }) =>
      id === null ? (
        <span className="text-muted">–</span>
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
  {
    id: 'position',
    header: 'Position',
    align: 'right',
    cell: ({ position }) =>
      position === undefined ? (
        <span className="text-muted" title="not shown to operators bound to host groups">
          –<span className="sr-only">not shown</span>
        </span>
      ) : (
        position.toLocaleString('en')
      ),
  },
  { id: 'hash', header: 'Hash', cell: ({ hash }) => <Hash hash={hash} label="Copy the hash" /> },
  {
    id: 'previous_hash',
    header: 'Previous hash',
    cell: ({ previous_hash: hash }) =>
      hash === null ? (
        <span className="text-muted">first event</span>
      ) : (
        <Hash hash={hash} label="Copy the previous hash" />
      ),
  },
];

/** The event log, a hash chain: each event contains the hash of the previous one. */
export function EventsPage() {
  const list = useListSearch(EVENT_FILTERS);
  const query = useQuery(listQuery<EventItem>('events', '/api/v1/events', list.query));
  const [isAsking, setAsking] = useState(false);
  return (
    <Page
      title="Events"
      lead="Everything that happened. Each event contains the hash of the previous one, so changes can be detected."
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
      <VerifyPanel />
      {isAsking && <EvidenceDialog onClose={() => setAsking(false)} />}
    </Page>
  );
}

const idOf = (event: EventItem) => event.id;

function Hash({ hash, label }: { hash: string; label: string }) {
  return <CopyText text={hash} short={`${hash.slice(0, SHORT)}…`} label={label} />;
}
