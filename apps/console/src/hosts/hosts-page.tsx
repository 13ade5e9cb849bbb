import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { Badge } from '../ui/badge.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Field } from '../ui/field.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const FILTERS = ['q', 'status', 'os', 'online', 'clone_suspected', 'group'] as const;

const COLUMNS: readonly Column<AgentItem>[] = [
  {
    id: 'hostname',
    header: 'Host',
    sort: 'hostname',
    wide: true,
    cell: (host) => (
      <Link to="/hosts/$id" params={{ id: host.id }} className="font-medium">
        {host.hostname}
      </Link>
    ),
  },
  { id: 'presence', header: 'Presence', cell: (host) => <Presence host={host} /> },
  { id: 'os', header: 'System', sort: 'os', cell: ({ os }) => `${os.id} ${os.version_id}` },
  { id: 'agent_version', header: 'Agent', cell: (host) => host.agent_version },
  {
    id: 'last_seen',
    header: 'Last seen',
    sort: 'last_seen',
    sortFirst: 'descending',
    cell: (host) => <Time at={host.last_seen_at} />,
  },
];

/** The fleet, a row per host. */
export function HostsPage() {
  const list = useListSearch(FILTERS);
  const navigate = useNavigate();
  const query = useQuery(listQuery<AgentItem>('hosts', '/api/v1/agents', list.query));
  return (
    <Page title="Hosts">
      <ListPanel
        query={query}
        noun="hosts"
        pager={list.pager}
        clearFilter={list.isFiltered ? list.clearFilter : null}
        empty={
          <EmptyState
            title="No host has joined yet"
            action={<Link to="/enrolment">Add the first host</Link>}
          />
        }
        toolbar={
          <Field
            label="Search"
            type="search"
            value={list.filter.q ?? ''}
            onChange={(e) => list.setFilter({ q: e.target.value || undefined })}
          />
        }
      >
        {(items) => (
          <DataTable
            label="Hosts"
            columns={COLUMNS}
            rows={items}
            rowId={idOf}
            onOpen={(host) => void navigate({ to: '/hosts/$id', params: { id: host.id } })}
            sort={list.sort}
            onSort={list.setSort}
          />
        )}
      </ListPanel>
    </Page>
  );
}

const idOf = (host: AgentItem) => host.id;

function Presence({ host }: { host: AgentItem }) {
  if (host.status === 'revoked')
    return (
      <Badge tone="neutral" icon={<CircleX />}>
        revoked
      </Badge>
    );
  if (host.clone_suspected)
    return (
      <Badge tone="bad" icon={<TriangleAlert />}>
        clone suspected
      </Badge>
    );
  if (host.status === 'unbound')
    return (
      <Badge tone="warn" icon={<TriangleAlert />}>
        not bound
      </Badge>
    );
  return host.online ? (
    <Badge tone="good" icon={<CircleCheck />}>
      online
    </Badge>
  ) : (
    <Badge tone="warn" icon={<CircleX />}>
      offline
    </Badge>
  );
}
