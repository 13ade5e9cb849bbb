import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { UpdatedHost } from '@tidegate/protocol/updates-api';
import { type ReactNode, useMemo, useRef } from 'react';
import { stringifySearch, useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { Badge, ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { RowLink } from '../ui/row-link.tsx';
import { FilterBar } from './filter-bar.tsx';
import { UPDATE_FILTERS, type UrlFilter } from './filter-rules.ts';
import { GroupUpdates } from './group-updates.tsx';
import { Grouping } from './grouping.tsx';
import { NoUpdates } from './no-updates.tsx';

const FILTERS = UPDATE_FILTERS.filter((name) => name !== 'state');
/** What fixes the worst first. */
const MOST_URGENT = 'urgency';

/** Pending updates grouped by host. */
export function UpdatedHostsPage() {
  const list = useListSearch(FILTERS);
  const { filter: whole } = useListSearch(UPDATE_FILTERS);
  const navigate = useNavigate();
  const box = useRef<HTMLInputElement>(null);
  const query = useQuery(
    listQuery<UpdatedHost>('updates', '/api/v1/updates/by-host', {
      ...list.query,
      sort: list.sort ?? MOST_URGENT,
    }),
  );
  const columns = useMemo(() => columnsOf(list.filter), [list.filter]);
  return (
    <Page
      title="Updates by host"
      lead={
        <>
          The hosts with updates that wait for a decision, those with the most urgent fixes first: of what is{' '}
          <Term of="kev">exploited</Term>, then by severity.
        </>
      }
    >
      <ListTable
        list={list}
        query={query}
        noun="hosts"
        empty={
          <NoUpdates title="No update waits for a decision">
            Hosts appear here after a scan has found an update.
          </NoUpdates>
        }
        toolbar={
          <FilterBar list={list} box={box} without="state">
            <Grouping filter={{ ...whole, state: whole.state ?? 'pending' }} />
          </FilterBar>
        }
        label="Hosts with updates"
        columns={columns}
        rowId={idOf}
        rowName={nameOf}
        unfold={(host) => <GroupUpdates filter={ofHost(list.filter, host)} of="host" />}
        onOpen={({ agent_id: id }) => void navigate({ to: '/hosts/$id', params: { id } })}
        order={MOST_URGENT}
      />
    </Page>
  );
}

const idOf = (host: UpdatedHost) => host.agent_id;
const nameOf = (host: UpdatedHost) => host.hostname;

/** The same filter, narrowed to one host. */
function ofHost(filter: UrlFilter, { agent_id }: UpdatedHost): UrlFilter {
  return { ...filter, agent_id, state: 'pending' };
}

function columnsOf(filter: UrlFilter): readonly Column<UpdatedHost>[] {
  return [
    {
      id: 'hostname',
      header: 'Host',
      sort: 'hostname',
      wide: true,
      cell: ({ agent_id: id, hostname }) => (
        <RowLink href={`/hosts/${id}`} className="font-medium">
          {hostname}
        </RowLink>
      ),
    },
    {
      id: 'fixes',
      header: 'Fixes',
      ...{ sort: MOST_URGENT, falls: true, order: 'Urgency' },
      whole: true,
      cell: (host) => <Fixes host={host} />,
    },
    {
      id: 'updates',
      header: 'Updates',
      sort: 'updates',
      sortFirst: 'descending',
      align: 'right',
      cell: (host) => (
        <RowLink href={`/updates${stringifySearch({ ...ofHost(filter, host), sort: MOST_URGENT })}`}>
          {host.updates.toLocaleString('en')}
        </RowLink>
      ),
    },
    {
      id: 'reboot',
      header: 'Reboot',
      cell: ({ reboot }) =>
        reboot === 'needed' ? (
          <Badge tone="warn">needed</Badge>
        ) : (
          <span className="text-muted">{reboot === 'unknown' ? 'not known' : 'not needed'}</span>
        ),
    },
    {
      id: 'group',
      header: 'Group',
      cell: ({ group }) =>
        group === null ? (
          <span className="text-muted">none</span>
        ) : (
          <RowLink
            href={`/updates/by-host${stringifySearch({ group })}`}
            className="inline-block max-w-48 truncate"
          >
            {group}
          </RowLink>
        ),
    },
  ];
}

/** How many of the updates fix what; without any it is said whether that is known. */
function Fixes({ host }: { host: UpdatedHost }) {
  const { exploited_fixes: exploited, critical_fixes: critical, high_fixes: high, fixes, unjudged } = host;
  const others = Math.max(0, fixes - critical - high);
  if (fixes === 0)
    return <span className="text-muted">{unjudged > 0 ? 'not known yet' : 'nothing known'}</span>;
  return (
    <span className="inline-flex items-center gap-x-3 gap-y-1">
      {exploited > 0 && <CountOf count={exploited} badge={<ExploitedBadge />} />}
      {critical > 0 && <CountOf count={critical} badge={<SeverityBadge severity="critical" />} />}
      {high > 0 && <CountOf count={high} badge={<SeverityBadge severity="high" />} />}
      {others > 0 && <span className="text-muted">{others.toLocaleString('en')} less severe</span>}
    </span>
  );
}

function CountOf({ count, badge }: { count: number; badge: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1">
      <span className="tabular-nums">{count.toLocaleString('en')}</span> {badge}
    </span>
  );
}
