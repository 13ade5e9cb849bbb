import {
  type ColumnDef,
  columnVisibilityFeature,
  type Row,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react';
import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { Selection } from './selection.ts';

export interface Column<T> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** The field of the server's `sort` parameter; absent where the list cannot be sorted by it. */
  readonly sort?: string;
  /** The direction of the first click; lists of times and counts begin with the largest. */
  readonly sortFirst?: 'ascending' | 'descending';
  readonly align?: 'right';
  /** Takes the remaining width and is truncated; the others are as wide as their content. */
  readonly wide?: boolean;
}

export interface TableProps<T extends object> {
  /** The name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowId: (row: T) => string;
  /** What a row is called, for the label of its checkbox. */
  readonly rowName?: (row: T) => string;
  readonly onOpen?: (row: T) => void;
  /** Called with the focused row, for actions on one row. */
  readonly onActive?: (row: T) => void;
  readonly sort?: string | undefined;
  readonly onSort?: ((sort: string) => void) | undefined;
  readonly selection?: Selection;
  readonly hidden?: ReadonlySet<string>;
}

const features = tableFeatures({ columnVisibilityFeature });

/**
 * A real table: sortable headers, rows that are walked with the arrow keys or J and K, opened with Enter and selected
 * with X (Shift selects the range). What is shown comes sorted and paged from the server.
 */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { label, columns, rows, rowId, rowName, onOpen, onActive, sort, onSort, selection, hidden } = props;
  const [active, setActive] = useState(0);
  const body = useRef<HTMLTableSectionElement>(null);
  const definitions = useMemo(
    () =>
      columns.map(
        ({ id, cell }): ColumnDef<typeof features, T> => ({ id, cell: ({ row }) => cell(row.original) }),
      ),
    [columns],
  );
  const columnVisibility = useMemo(
    () => Object.fromEntries([...(hidden ?? [])].map((id) => [id, false])),
    [hidden],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowId,
    state: { columnVisibility },
  });
  const ids = useMemo(() => rows.map(rowId), [rows, rowId]);
  const current = Math.min(active, Math.max(rows.length - 1, 0));
  const hadFocus = useRef(false);
  // The focused row may disappear on a refetch: the row in its place takes the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the rows change.
  useEffect(() => {
    if (!hadFocus.current || document.activeElement !== document.body) return;
    body.current?.rows[current]?.focus({ preventScroll: true });
  }, [ids]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setActive(index);
    body.current?.rows[index]?.focus();
  };
  const onKeyDown = (
    event: KeyboardEvent<HTMLTableRowElement>,
    { index, original }: Row<typeof features, T>,
  ) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === 'ArrowDown' || key === 'j') move(index + 1);
    else if (key === 'ArrowUp' || key === 'k') move(index - 1);
    else if (key === 'Home') move(0);
    else if (key === 'End') move(rows.length - 1);
    else if (key === 'Enter' && onOpen) onOpen(original);
    else if ((key === 'x' || key === ' ') && selection)
      selection.toggle(rowId(original), { ids, range: event.shiftKey });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event: MouseEvent<HTMLTableRowElement>, row: T) => {
    const isOwn = event.target instanceof Element && event.target.closest('a,button,input,label,summary');
    if (!isOwn && onOpen && getSelection()?.isCollapsed !== false) onOpen(row);
  };
  const shown = columns.filter(({ id }) => !hidden?.has(id));
  const isAll = ids.length > 0 && ids.every((id) => selection?.has(id));

  return (
    <div className="sideways">
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 z-[1] bg-surface">
          <tr className="border-b border-line">
            {selection && (
              <th scope="col" className="w-9 pl-3">
                <input
                  type="checkbox"
                  className="size-4 align-middle"
                  aria-label="Select all on this page"
                  checked={isAll}
                  onChange={() => selection.setAll(ids, !isAll)}
                />
              </th>
            )}
            {shown.map((column) => (
              <Header key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {table.getRowModel().rows.map((row) => {
            const isSelected = selection?.has(row.id) === true;
            return (
              <tr
                key={row.id}
                tabIndex={row.index === current ? 0 : -1}
                aria-selected={selection ? isSelected : undefined}
                onBlur={(event) => {
                  hadFocus.current = event.relatedTarget === null;
                }}
                onFocus={() => {
                  hadFocus.current = true;
                  setActive(row.index);
                  onActive?.(row.original);
                }}
                onKeyDown={(event) => onKeyDown(event, row)}
                onClick={(event) => onClick(event, row.original)}
                className={`h-(--row) border-b border-line last:border-0 ${onOpen ? 'cursor-pointer' : ''} ${isSelected ? 'bg-accent-soft' : 'hover:bg-sunken'}`}
              >
                {selection && (
                  <td className="w-9 pl-3">
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      className="size-4 align-middle"
                      aria-label={`Select ${rowName?.(row.original) ?? row.id}`}
                      checked={isSelected}
                      onChange={() => undefined}
                      onClick={(event) => selection.toggle(row.id, { ids, range: event.shiftKey })}
                    />
                  </td>
                )}
                {row.getVisibleCells().map((cell, i) => (
                  <td
                    key={cell.id}
                    onPointerEnter={showCut}
                    className={`px-3 py-1 ${shown[i]?.align === 'right' ? 'text-right tabular-nums' : ''} ${shown[i]?.wide ? 'w-full max-w-0 min-w-48 truncate' : 'max-w-80 truncate'}`}
                  >
                    <table.FlexRender cell={cell} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Names a text that its column cuts off. */
function showCut({ currentTarget: cell }: PointerEvent<HTMLTableCellElement>): void {
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent ?? '';
  else cell.removeAttribute('title');
}

/** Focuses the row of the page's table that last had the focus, or else the first. */
export function focusRows(): void {
  document.querySelector<HTMLElement>('main tbody tr[tabindex="0"]')?.focus();
}

type HeaderProps<T> = { column: Column<T> } & Pick<TableProps<T & object>, 'sort' | 'onSort'>;

function Header<T>({ column, sort, onSort }: HeaderProps<T>) {
  const { header, align } = column;
  const className = `px-3 py-2 text-[0.86rem] font-medium text-muted whitespace-nowrap ${align === 'right' ? 'text-right' : ''}`;
  if (column.sort === undefined || !onSort)
    return (
      <th scope="col" className={className}>
        {header}
      </th>
    );
  const field = column.sort;
  const direction = sort === field ? 'ascending' : sort === `-${field}` ? 'descending' : 'none';
  const firstDescending = column.sortFirst === 'descending';
  const next = direction === 'none' ? firstDescending : direction === 'ascending';
  const Icon = { ascending: ArrowUp, descending: ArrowDown, none: ChevronsUpDown }[direction];
  return (
    <th scope="col" aria-sort={direction} className={className}>
      <button
        type="button"
        className="inline-flex min-h-6 items-center gap-1 hover:text-text"
        onClick={() => onSort(next ? `-${field}` : field)}
      >
        {header}
        <Icon
          aria-hidden="true"
          className={`size-3.5 ${direction === 'none' ? 'opacity-50' : 'text-accent'}`}
        />
      </button>
    </th>
  );
}
