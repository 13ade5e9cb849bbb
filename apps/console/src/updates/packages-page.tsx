import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { PackageItem } from '@tidegate/protocol/updates-api';
import { useMemo, useRef } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { HeldCount } from '../holds/held-count.tsx';
import { ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { FilterBar } from './filter-bar.tsx';
import { UPDATE_FILTERS, type UrlFilter } from './filter-rules.ts';
import { Grouping } from './grouping.tsx';
import { SavedViews } from './saved-views.tsx';
import { SecurityBadge, WorstFixed } from './update-columns.tsx';
import { STATE_WORDS } from './update-words.ts';

/** What fixes the worst first. */
const MOST_URGENT = 'urgency';

/** Updates grouped by package. Each row opens its updates under the same filter. */
export function PackagesPage() {
  const list = useListSearch(UPDATE_FILTERS);
  const navigate = useNavigate();
  const box = useRef<HTMLInputElement>(null);
  const query = useQuery(
    listQuery<PackageItem>('updates', '/api/v1/packages', { ...list.query, sort: list.sort ?? MOST_URGENT }),
  );
  const columns = useMemo(() => columnsOf(list.filter), [list.filter]);
  return (
    <Page title="Packages" lead="The available updates by package, across all hosts.">
      <ListTable
        list={list}
        query={query}
        noun="packages"
        empty={
          <EmptyState title="No package has an update" action={<Link to="/hosts">See the hosts</Link>}>
            Packages appear after a host has scanned.
          </EmptyState>
        }
        toolbar={
          <FilterBar list={list} box={box}>
            <Grouping filter={list.filter} />
            <SavedViews list={list} page="packages" />
          </FilterBar>
        }
        label="Packages"
        columns={columns}
        rowId={idOf}
        onOpen={(item) => void navigate({ to: '/updates', search: searchOf(list.filter, item) })}
        order={MOST_URGENT}
      />
    </Page>
  );
}

const idOf = ({ id }: PackageItem) => id;

/** The same filter, narrowed to one package by its exact name. */
function searchOf(filter: UrlFilter, { ecosystem, name }: PackageItem): Record<string, string | undefined> {
  const { q: _, ...kept } = filter;
  // A package counts each version that is offered.
  const isMany = ecosystem === 'npm' || ecosystem === 'pypi';
  return { ...kept, ecosystem, name, ...(isMany && { alternatives: 'true' }) };
}

function columnsOf(filter: UrlFilter): readonly Column<PackageItem>[] {
  return [
    {
      id: 'name',
      header: 'Package',
      sort: 'name',
      cell: (item) => (
        <span className="inline-flex items-center gap-1.5">
          <Link to="/updates" search={searchOf(filter, item)} className="font-medium">
            {item.name}
          </Link>
          {item.security && <SecurityBadge />}
        </span>
      ),
    },
    {
      id: 'fixes',
      header: 'Fixes',
      sort: MOST_URGENT,
      cell: (item) => <WorstFixed {...item} />,
    },
    { id: 'ecosystem', header: 'Ecosystem', cell: ({ ecosystem }) => ecosystem },
    {
      id: 'hosts',
      header: 'Hosts',
      sort: 'hosts',
      sortFirst: 'descending',
      align: 'right',
      cell: ({ hosts }) => hosts.toLocaleString('en'),
    },
    {
      id: 'updates',
      header: 'Updates',
      sort: 'updates',
      sortFirst: 'descending',
      align: 'right',
      cell: ({ updates }) => updates.toLocaleString('en'),
    },
    {
      id: 'versions',
      header: 'Versions',
      align: 'right',
      cell: (item) => item.available_versions.toLocaleString('en'),
    },
    {
      id: 'severity',
      header: 'Brings or keeps',
      sort: 'severity',
      cell: ({ severity, known_exploited: exploited }) => (
        <span className="inline-flex gap-1.5">
          <SeverityBadge severity={severity} />
          {exploited && <ExploitedBadge />}
        </span>
      ),
    },
    {
      id: 'held',
      header: 'Held',
      cell: ({ held_updates: held }) => <HeldCount held={held} />,
    },
    { id: 'states', header: 'States', wide: true, cell: ({ states }) => statesText(states) },
    {
      id: 'newest',
      header: 'Newest',
      sort: 'newest',
      sortFirst: 'descending',
      cell: (item) => <Time at={item.newest_update_at} />,
    },
  ];
}

function statesText(states: Readonly<Record<string, number>>): string {
  const words: Readonly<Record<string, string>> = STATE_WORDS;
  return Object.entries(states)
    .map(([state, count]) => `${count} ${words[state] ?? state}`)
    .join(', ');
}
