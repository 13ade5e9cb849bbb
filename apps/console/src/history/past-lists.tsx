import { useQuery } from '@tanstack/react-query';
import type { KnownSince, PackageDifference, PackageThen } from '@tidegate/protocol/package-history-api';
import type { ReactNode } from 'react';
import type { Page } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { PackageFilters } from '../hosts/package-filters.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Cut } from '../ui/cut.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { useNarrow } from '../ui/use-narrow.ts';
import { ChangeBadge, ChangeLine } from './change-words.tsx';
import { TooOld } from './too-old.tsx';

const FILTERS = ['q', 'ecosystem'] as const;

interface Past<T> extends Page<T> {
  readonly ecosystems: readonly KnownSince[];
}

const NAME: Column<{ name: string }> = {
  id: 'name',
  header: 'Package',
  wide: true,
  cell: ({ name }) => (
    <span title={name} className="block truncate font-medium">
      {name}
    </span>
  ),
};

const PACKAGES: readonly Column<PackageThen>[] = [
  NAME,
  { id: 'version', header: 'Version', cell: ({ version }) => <Cut text={version} /> },
  { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
  { id: 'arch', header: 'Arch or folder', cell: ({ arch }) => <Cut text={arch ?? '–'} /> },
];

const DIFFERENCES: readonly Column<PackageDifference>[] = [
  NAME,
  {
    id: 'kind',
    header: 'Change',
    cell: ({ kind }) => <ChangeBadge kind={kind} />,
  },
  { id: 'from', header: 'Before', cell: ({ from_version: text }) => <Cut text={text ?? '–'} /> },
  { id: 'to', header: 'After', cell: ({ to_version: text }) => <Cut text={text ?? '–'} /> },
  { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
];

/** Packages that a host had at the end of a day; `at` is undefined for now. */
export function InstalledThen({ id, at, label }: { id: string; at: string | undefined; label: string }) {
  return (
    <PastList<PackageThen>
      path={`/api/v1/agents/${encodeURIComponent(id)}/inventory/at`}
      time={{ at }}
      noun="packages"
      label={label}
      columns={PACKAGES}
      rowId={({ ecosystem, name, arch, version }) => JSON.stringify([ecosystem, name, arch, version])}
      card={({ name, version, ecosystem, arch }) => (
        <>
          <p className="font-medium break-all">{name}</p>
          <p className="flex flex-wrap gap-x-3 text-muted">
            <span className="mono break-all text-text">{version}</span>
            <span>{MANAGERS[ecosystem]}</span>
            {arch !== null && <span className="break-all">{arch}</span>}
          </p>
        </>
      )}
      empty="The host had no packages on that day, or has reported none yet."
    />
  );
}

/** Packages that differ between the ends of two days; `to` is undefined for now. */
export function DifferenceOf({
  id,
  from,
  to,
  label,
}: {
  id: string;
  from: string;
  to: string | undefined;
  label: string;
}) {
  return (
    <PastList<PackageDifference>
      path={`/api/v1/agents/${encodeURIComponent(id)}/inventory/difference`}
      time={{ from, to }}
      noun="differences"
      label={label}
      columns={DIFFERENCES}
      rowId={({ position, kind }) => `${position} ${kind}`}
      card={(change) => <ChangeLine change={change} />}
      empty="The host had the same packages on both days."
    />
  );
}

function PastList<T extends { name: string }>({
  path,
  time,
  noun,
  label,
  columns,
  rowId,
  card,
  empty,
}: {
  path: string;
  time: Readonly<Record<string, string | undefined>>;
  noun: string;
  label: string;
  columns: readonly Column<T>[];
  rowId: (row: T) => string;
  /** A row on a narrow window, which has no room for columns. */
  card: (row: T) => ReactNode;
  empty: string;
}) {
  const list = useListSearch(FILTERS);
  const query = useQuery(listQuery<T, Past<T>>('updates', path, { ...list.query, ...time }));
  const ecosystems = query.data?.ecosystems ?? [];
  const isUnknown = ecosystems.length > 0 && ecosystems.every(({ known }) => !known);
  // What is not known is not missing because of a filter.
  const isFiltered = list.isFiltered && !isUnknown;
  const isNarrow = useNarrow();
  const panel = {
    ...{ query, noun },
    empty: (
      <EmptyState title={isUnknown ? 'Not known' : 'Nothing to list'}>
        {isUnknown ? 'No report of that day is kept.' : empty}
      </EmptyState>
    ),
    toolbar: <PackageFilters filter={list.filter} onFilter={list.setFilter} />,
  };
  return (
    <div className="space-y-3">
      <TooOld ecosystems={ecosystems} />
      {isNarrow ? (
        <ListPanel {...panel} pager={list.pager} clearFilter={isFiltered ? list.clearFilter : null}>
          {(rows) => (
            <ul aria-label={label} className="divide-y divide-line">
              {rows.map((row) => (
                <li key={rowId(row)} className="px-4 py-2">
                  {card(row)}
                </li>
              ))}
            </ul>
          )}
        </ListPanel>
      ) : (
        <ListTable {...panel} {...{ label, columns, rowId }} list={{ ...list, isFiltered }} />
      )}
    </div>
  );
}
