import type { UseQueryResult } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight, RefreshCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { useConnection } from '../api/live.ts';
import { fetchAhead, type ListedPage } from '../api/queries.ts';
import { Button, IconButton } from './button.tsx';
import { DownloadCsv } from './download-csv.tsx';
import { EmptyState, ErrorPanel, Skeleton } from './states.tsx';
import { Time } from './time.tsx';
import { useNarrow } from './use-narrow.ts';

export interface Pager {
  readonly isFirst: boolean;
  next(cursor: string): void;
  back(): void;
}

interface Props<T> {
  readonly query: UseQueryResult<ListedPage<T>>;
  /** Shown when the list is empty without a filter. */
  readonly empty: ReactNode;
  /** Clears the filter; null without one. */
  readonly clearFilter: (() => void) | null;
  readonly pager: Pager;
  /** What is counted: `hosts`, `updates`. */
  readonly noun: string;
  /** The heading of a list that shares its page with others, and what is done with the list. */
  readonly title?: string;
  readonly act?: ReactNode;
  /** Filters above the rows. */
  readonly toolbar?: ReactNode;
  readonly children: (items: readonly T[]) => ReactNode;
}

/** A list in each of its states: loading, failed, empty, empty because of the filter, stale, loaded. */
export function ListPanel<T>({
  query,
  empty,
  clearFilter,
  pager,
  noun,
  title,
  act,
  toolbar,
  children,
}: Props<T>) {
  const { data, error, isPending, refetch } = query;
  return (
    <section className="rounded-xl border border-line bg-surface" aria-busy={query.isFetching}>
      {title && (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-3 py-2.5">
          <h2 className="font-semibold">{title}</h2>
          {act}
        </div>
      )}
      {toolbar && <Toolbar isFiltered={clearFilter !== null}>{toolbar}</Toolbar>}
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton as="rows" rows={8} />}
      {data &&
        data.items.length === 0 &&
        (clearFilter ? (
          <EmptyState
            title={`No ${noun} match the filter`}
            action={<Button onClick={clearFilter}>Clear the filter</Button>}
          />
        ) : (
          empty
        ))}
      {data && data.items.length > 0 && children(data.items)}
      {data && <Footer {...{ query, pager, noun }} data={data} />}
    </section>
  );
}

/** The filters; on a phone they are folded, or the list would begin on the next screen. */
function Toolbar({ isFiltered, children }: { isFiltered: boolean; children: ReactNode }) {
  const isNarrow = useNarrow();
  const row = (
    <div className="flex flex-wrap items-end gap-2 border-b border-line px-3 py-2.5">{children}</div>
  );
  if (!isNarrow) return row;
  return (
    <details>
      <summary className="min-h-10 border-b border-line px-3 py-2.5 font-medium">
        Filters{isFiltered && <span className="font-normal text-muted">, some are set</span>}
      </summary>
      {row}
    </details>
  );
}

function Footer<T>({
  query,
  pager,
  noun,
  data,
}: Pick<Props<T>, 'query' | 'pager' | 'noun'> & { data: ListedPage<T> }) {
  const connection = useConnection();
  const next = data.next_cursor;
  return (
    <footer className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line px-3 py-1.5 text-[0.9rem] text-muted">
      <span role="status">
        {data.total_is_capped && 'More than '}
        {data.total.toLocaleString('en')}{' '}
        {data.total === 1 ? noun.replace(/ies$/, 'y').replace(/s$/, '') : noun}
      </span>
      <span className="inline-flex items-center gap-1">
        as of <Time at={new Date(query.dataUpdatedAt).toISOString()} />
        {connection === 'offline' && <strong className="text-warn">, the server does not answer</strong>}
      </span>
      <IconButton label={`Refresh the ${noun}`} onClick={() => void query.refetch()}>
        <RefreshCw aria-hidden="true" className={`size-3.5 ${query.isFetching ? 'animate-spin' : ''}`} />
      </IconButton>
      {data.total > 0 && <DownloadCsv list={data.list} noun={noun} />}
      {(!pager.isFirst || next !== null) && (
        <nav aria-label={`Pages of ${noun}`} className="ml-auto flex gap-1">
          <Button
            tone="quiet"
            disabled={pager.isFirst}
            onClick={pager.back}
            icon={<ChevronLeft aria-hidden="true" className="size-4" />}
          >
            Previous
          </Button>
          <Button
            tone="quiet"
            disabled={next === null}
            onPointerEnter={() => next !== null && fetchAhead(data.list, { cursor: next })}
            onClick={() => next !== null && pager.next(next)}
          >
            Next <ChevronRight aria-hidden="true" className="size-4" />
          </Button>
        </nav>
      )}
    </footer>
  );
}
