import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';
import { Sideways } from './sideways.tsx';
import { directionOf, firstSort, type SortedColumn, sortAfter } from './sort-rules.ts';

/**
 * The place of a table. Where it is wider than its place it scrolls there, and says so; where its place is as narrow
 * as a phone, the styles make a card of each row.
 */
export function TableFrame({ bar, children }: { bar?: ReactNode; children: ReactNode }) {
  return (
    <div className="table-place">
      {bar}
      <Sideways more="columns">{children}</Sideways>
    </div>
  );
}

interface CardBarProps {
  /** Selects all rows. */
  readonly all: ReactNode;
  readonly columns: readonly (SortedColumn & {
    readonly id: string;
    readonly header: string;
    readonly order?: string;
  })[];
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

/** In place of the headers, which cards do not have: selects all, and sorts. */
export function CardBar({ all, columns, sort, onSort }: CardBarProps) {
  const sortable = onSort
    ? columns.flatMap(({ sort: field, ...column }) =>
        field === undefined ? [] : [{ ...column, sort: field }],
      )
    : [];
  if (!all && sortable.length === 0) return null;
  const sorted = sortable.find((column) => directionOf(column, sort) !== 'none');
  const isDown = sorted !== undefined && directionOf(sorted, sort) === 'descending';
  const Icon = isDown ? ArrowDown : ArrowUp;
  return (
    <div className="card-bar items-center gap-3 border-b border-line px-3 py-1.5">
      {all && (
        // biome-ignore lint/a11y/noLabelWithoutControl: the control is given.
        <label className="flex min-h-8 items-center gap-2">
          {all}
          <span aria-hidden="true">All</span>
        </label>
      )}
      {onSort && sortable.length > 0 && (
        <span className="ml-auto flex min-w-0 items-center gap-1">
          <select
            aria-label="Order"
            className="min-h-8 min-w-0 rounded-md border border-line-strong/60 bg-raised px-2"
            value={sorted?.sort ?? ''}
            onChange={({ target }) => {
              const chosen = sortable.find((column) => column.sort === target.value);
              if (chosen) onSort(firstSort(chosen));
            }}
          >
            {!sorted && <option value="">As it comes</option>}
            {sortable.map((column) => (
              <option key={column.id} value={column.sort}>
                {column.order ?? column.header}
              </option>
            ))}
          </select>
          {sorted && (
            <IconButton
              label={isDown ? 'Descending; sort ascending' : 'Ascending; sort descending'}
              onClick={() => onSort(sortAfter(sorted, sort))}
            >
              <Icon aria-hidden="true" className="size-4" />
            </IconButton>
          )}
        </span>
      )}
    </div>
  );
}
