import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { fetchAhead, type ListedPage } from '../api/queries.ts';
import { DataTable, type TableProps } from './data-table.tsx';
import { ListPanel } from './list-panel.tsx';

interface Props<T extends object> extends Omit<TableProps<T>, 'rows' | 'sort' | 'onSort'> {
  /** The state of the list in the URL. */
  readonly list: Pick<ListSearch<never>, 'pager' | 'isFiltered' | 'clearFilter' | 'sort' | 'setSort'>;
  readonly query: UseQueryResult<ListedPage<T>>;
  /** What is counted: `hosts`, `updates`. */
  readonly noun: string;
  /** Shown when the list is empty without a filter. */
  readonly empty: ReactNode;
  /** The heading of a list that shares its page with others, and what is done with the list. */
  readonly title?: string;
  readonly act?: ReactNode;
  /** Filters above the rows. */
  readonly toolbar?: ReactNode;
  /** The default order; absent if the list cannot be sorted. */
  readonly order?: string;
  /** Content between the filters and the rows. */
  readonly above?: (rows: readonly T[]) => ReactNode;
}

/** The list of a page as a table, in each of its states; filter, order and page are in the URL. */
export function ListTable<T extends object>({
  list,
  query,
  noun,
  empty,
  title,
  act,
  toolbar,
  order,
  above,
  ...table
}: Props<T>) {
  const onSort = (sort: string) => {
    if (query.data) fetchAhead(query.data.list, { sort, cursor: undefined });
    list.setSort(sort);
  };
  return (
    <ListPanel
      query={query}
      noun={noun}
      pager={list.pager}
      clearFilter={list.isFiltered ? list.clearFilter : null}
      empty={empty}
      toolbar={toolbar}
      {...(title === undefined ? {} : { title, act })}
    >
      {(rows) => (
        <>
          {above?.(rows)}
          <DataTable
            {...table}
            rows={rows}
            {...(order === undefined ? {} : { sort: list.sort ?? order, onSort })}
          />
        </>
      )}
    </ListPanel>
  );
}
