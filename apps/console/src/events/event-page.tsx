import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { narrativeOf } from '@tidegate/protocol/event-narratives';
import { oneQuery } from '../api/queries.ts';
import { actorText } from '../ui/actor.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { RawJson } from '../ui/fold.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { CutNote } from './cut-note.tsx';
import { EventSeverityBadge } from './event-badges.tsx';
import type { EventItem } from './event-item.ts';

/** One event (E9): what happened, its stored content, and its place in the chain. */
export function EventPage() {
  const { id = '' } = useParams({ strict: false });
  const { data: event, error, refetch } = useQuery(oneQuery<EventItem>('events', `/api/v1/events/${id}`));
  if (!event)
    return (
      <Page title="Event">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
      </Page>
    );
  return (
    <Page title="Event" lead={<EventSeverityBadge severity={event.severity} />}>
      <div className="grid grid-cols-[minmax(0,1fr)_30rem] items-start gap-4 max-lg:grid-cols-1">
        <Panel title="What happened">
          <div className="space-y-3">
            <p className="break-words">{narrativeOf(event)}</p>
            <CutNote event={event} />
            <RawJson value={event.content} />
          </div>
        </Panel>
        <Panel title="Details" aside={<Link to="/events">All events</Link>}>
          <Facts facts={factsOf(event)} />
        </Panel>
      </div>
    </Page>
  );
}

function factsOf(event: EventItem): (readonly [string, React.ReactNode])[] {
  const { agent_id: agentId, hostname, previous_hash: before, position } = event;
  return [
    ['When', <Time key="when" at={event.created_at} />],
    [
      'Type',
      <Link key="type" to="/events" search={{ type: event.type }} className="mono">
        {event.type}
      </Link>,
    ],
    ['Kind', event.kind],
    ['Component', event.component],
    ['Actor', event.actor === null ? 'none' : actorText(event.actor)],
    [
      'Host',
      agentId === null ? (
        <span key="host" className="text-muted">
          none
        </span>
      ) : (
        <Link
          key="host"
          to="/hosts/$id"
          params={{ id: agentId }}
          className={hostname === null ? 'mono' : 'break-words'}
        >
          {hostname ?? agentId}
        </Link>
      ),
    ],
    ...(agentId === null || hostname === null
      ? []
      : [['Host id', <CopyText key="agent" text={agentId} label="Copy the host id" />] as const]),
    ...(position === undefined ? [] : [['Position', position.toLocaleString('en')] as const]),
    ['Hash', <CopyText key="hash" text={event.hash} label="Copy the hash" />],
    [
      'Previous hash',
      before === null ? (
        <span key="before" className="text-muted">
          none: this is the first event
        </span>
      ) : (
        <CopyText key="before" text={before} label="Copy the previous hash" />
      ),
    ],
    ['Id', <CopyText key="id" text={event.id} label="Copy the id" />],
  ];
}
