import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import type { ReactNode } from 'react';
import type { Page } from '../api/client.ts';
import { listQuery } from '../api/queries.ts';
import { PACKAGES_COLUMN } from '../commands/command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge } from '../commands/command-words.tsx';
import { EVENT_COLUMNS } from '../events/event-columns.tsx';
import type { EventItem } from '../events/event-item.ts';
import { actorText } from '../ui/actor.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { UPDATE_COLUMNS } from '../updates/update-columns.tsx';
import { ApproveHost } from './approve-host.tsx';

const SHOWN = 10;
/** Its updates are of this host, and all of them wait. */
const OF_THE_HOST: ReadonlySet<string> = new Set([
  ...['hostname', 'state', 'parts', 'exploited', 'origin', 'updated_at'],
]);

const COMMANDS: readonly Column<CommandItem>[] = [
  {
    id: 'action',
    header: 'Command',
    wide: true,
    cell: ({ id, action }) => (
      <Link to="/commands/$id" params={{ id }}>
        {ACTION_WORDS[action]}
      </Link>
    ),
  },
  PACKAGES_COLUMN,
  {
    id: 'status',
    header: 'Status',
    part: 'pinned',
    cell: ({ status }) => <CommandStatusBadge status={status} />,
  },
  { id: 'created_by', header: 'Requested by', cell: (command) => actorText(command.created_by) },
  { id: 'created_at', header: 'Requested', cell: (command) => <Time at={command.created_at} /> },
  {
    id: 'finished_at',
    header: 'Finished',
    cell: (command) => <Time at={command.finished_at} empty="not yet" />,
  },
];

const EVENTS: readonly Column<EventItem>[] = [
  { id: 'created_at', header: 'When', cell: (event) => <Time at={event.created_at} /> },
  ...EVENT_COLUMNS,
];

const idOf = ({ id }: { id: string }) => id;

/** The most urgent of the updates that wait on the host. */
export function HostUpdates({ agentId }: { agentId: string }) {
  const navigate = useNavigate();
  const search = { agent_id: agentId };
  const query = useQuery(
    listQuery<UpdateItem>('updates', '/api/v1/updates', {
      ...{ ...search, state: 'pending', sort: 'urgency', limit: SHOWN },
    }),
  );
  return (
    <ShortList
      title="Updates"
      query={query}
      nothing="No update of this host waits for a decision."
      all={
        <Link to="/updates" search={search}>
          All updates of this host
        </Link>
      }
      head={<ApproveHost agentId={agentId} />}
    >
      {(rows) => (
        <DataTable
          label="Updates of this host"
          columns={UPDATE_COLUMNS}
          hidden={OF_THE_HOST}
          rows={rows}
          rowId={idOf}
          onOpen={({ id }) => void navigate({ to: '/updates/$id', params: { id } })}
        />
      )}
    </ShortList>
  );
}

/** The latest commands of the host. */
export function HostCommands({ agentId }: { agentId: string }) {
  const search = { agent_id: agentId };
  const query = useQuery(listQuery<CommandItem>('commands', '/api/v1/commands', { ...search, limit: SHOWN }));
  return (
    <ShortList
      title="Commands"
      query={query}
      nothing="No command has been sent to this host yet."
      all={
        <Link to="/commands" search={search}>
          All commands of this host
        </Link>
      }
    >
      {(rows) => <DataTable label="Commands of this host" columns={COMMANDS} rows={rows} rowId={idOf} />}
    </ShortList>
  );
}

/** The latest events of the host. */
export function HostTimeline({ agentId }: { agentId: string }) {
  const search = { agent_id: agentId };
  const query = useQuery(listQuery<EventItem>('events', '/api/v1/events', { ...search, limit: SHOWN }));
  return (
    <ShortList
      title="Timeline"
      query={query}
      nothing="Nothing has happened yet."
      all={
        <Link to="/events" search={search}>
          All events of this host
        </Link>
      }
    >
      {(rows) => <DataTable label="Events of this host" columns={EVENTS} rows={rows} rowId={idOf} />}
    </ShortList>
  );
}

function ShortList<T>({
  title,
  query,
  nothing,
  all,
  head,
  children,
}: {
  title: string;
  query: UseQueryResult<Page<T>>;
  nothing: string;
  all: ReactNode;
  head?: ReactNode;
  children: (rows: readonly T[]) => ReactNode;
}) {
  const { data, error, isPending, refetch } = query;
  return (
    <section className="rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-2.5">
        <h2 className="font-semibold">{title}</h2>
        <span className="flex items-center gap-3 text-muted">
          {data &&
            `${Math.min(SHOWN, data.total)} of ${data.total_is_capped ? 'more than ' : ''}${data.total.toLocaleString('en')}`}
          {all}
        </span>
      </header>
      {head}
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton as="rows" rows={3} />}
      {data?.items.length === 0 && <p className="px-4 py-5 text-muted">{nothing}</p>}
      {data && data.items.length > 0 && children(data.items)}
    </section>
  );
}
