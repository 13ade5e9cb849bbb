import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { PackageItem } from '@tidegate/protocol/updates-api';
import { Fragment, useMemo, useRef } from 'react';
import { stringifySearch, useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { HeldCount } from '../holds/held-count.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { SeverityBadge } from '../ui/badge.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { RowLink } from '../ui/row-link.tsx';
import { Time } from '../ui/time.tsx';
import { SavedViews } from '../views/saved-views.tsx';
import { FilterBar } from './filter-bar.tsx';
import { UPDATE_FILTERS, type UrlFilter } from './filter-rules.ts';
import { GroupUpdates } from './group-updates.tsx';
import { Grouping } from './grouping.tsx';
import { NoUpdates } from './no-updates.tsx';
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
    <Page title="Packages" lead="The updates of all hosts, by package.">
      <ListTable
        list={list}
        query={query}
        noun="packages"
        empty={
          <NoUpdates title="No package has an update">Packages appear after a host has scanned.</NoUpdates>
        }
        toolbar={
          <FilterBar list={list} box={box}>
            <Grouping filter={list.filter} />
            <SavedViews list={list} page="packages" filters={UPDATE_FILTERS} />
          </FilterBar>
        }
        label="Packages"
        columns={columns}
        rowId={idOf}
        rowName={nameOf}
        unfold={(item) => <GroupUpdates filter={searchOf(list.filter, item)} of="package" />}
        onOpen={(item) => void navigate({ to: '/updates', search: searchOf(list.filter, item) })}
        order={MOST_URGENT}
      />
    </Page>
  );
}

const idOf = ({ id }: PackageItem) => id;
const nameOf = ({ name }: PackageItem) => name;

/** The same filter, narrowed to one package by its exact name. */
function searchOf(filter: UrlFilter, { ecosystem, name }: PackageItem): UrlFilter {
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
      wide: true,
      cell: (item) => (
        <span className="inline-flex max-w-full items-center gap-1.5">
          <RowLink
            href={`/updates${stringifySearch(searchOf(filter, item))}`}
            className="min-w-0 truncate font-medium"
          >
            {item.name}
          </RowLink>
          {item.security && <SecurityBadge />}
        </span>
      ),
    },
    {
      id: 'fixes',
      header: 'Fixes',
      part: 'pinned',
      ...{ sort: MOST_URGENT, falls: true, order: 'Urgency' },
      cell: (item) => <WorstFixed {...item} />,
    },
    { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
    {
      id: 'hosts',
      header: 'Hosts',
      sort: 'hosts',
      sortFirst: 'descending',
      align: 'right',
      cell: ({ hosts }) => hosts.toLocaleString('en'),
    },
    {
      id: 'installed',
      roomy: true,
      header: 'Installed on',
      cell: ({ ecosystem, name }) => (
        <RowLink
          href={`/hosts${stringifySearch({ package: name, ecosystem })}`}
          aria-label={`which hosts have ${isolated(name)}`}
        >
          which hosts
        </RowLink>
      ),
    },
    {
      id: 'updates',
      header: 'Updates',
      sort: 'updates',
      sortFirst: 'descending',
      wraps: true,
      cell: ({ states }) => <States states={states} />,
    },
    {
      id: 'versions',
      roomy: true,
      header: 'Versions',
      align: 'right',
      cell: (item) => item.available_versions.toLocaleString('en'),
    },
    {
      id: 'severity',
      header: 'Brings or keeps',
      ...{ sort: 'severity', falls: true },
      cell: ({ severity }) => <SeverityBadge severity={severity} />,
    },
    {
      id: 'held',
      header: 'Held',
      roomy: true,
      cell: ({ held_updates: held, ecosystem, name }) => <HeldCount held={held} of={{ ecosystem, name }} />,
    },
    {
      id: 'newest',
      roomy: true,
      header: 'Newest',
      sort: 'newest',
      sortFirst: 'descending',
      cell: (item) => <Time at={item.newest_update_at} />,
    },
  ];
}

/** How many updates are in which state; a line ends between two of them only. */
function States({ states }: Pick<PackageItem, 'states'>) {
  const words: Readonly<Record<string, string>> = STATE_WORDS;
  return Object.entries(states).map(([state, count], i, { length }) => (
    <Fragment key={state}>
      <span className="whitespace-nowrap">
        {count} {words[state] ?? state}
        {i < length - 1 && ','}
      </span>{' '}
    </Fragment>
  ));
}
