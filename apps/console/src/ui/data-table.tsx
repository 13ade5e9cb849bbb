import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react';
import {
  Fragment,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { Selection } from './selection.ts';
import { directionOf, sortAfter } from './sort-rules.ts';
import { CardBar, TableFrame } from './table-frame.tsx';
import { type Column, partOf, type RowActs, type RowOf, TableRow } from './table-row.tsx';

export type { Column };

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
  /** What a row is made of: shown below it once it is unfolded, and not made before. */
  readonly unfold?: ((row: T) => ReactNode) | undefined;
}

/**
 * A real table: sortable headers, rows that are walked with the arrow keys or J and K, opened with Enter and selected
 * with X (Shift selects the range); a row of others unfolds with the right arrow. What is shown comes sorted and paged from the server.
 */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { label, columns, rows, rowId, rowName, onOpen, onActive, sort, onSort, selection, hidden, unfold } =
    props;
  const [active, setActive] = useState(0);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(() => new Set());
  const body = useRef<HTMLTableSectionElement>(null);
  const ids = useMemo(() => rows.map(rowId), [rows, rowId]);
  const current = Math.min(active, Math.max(rows.length - 1, 0));
  const hadFocus = useRef(false);
  // The focused row may disappear on a refetch: the row in its place takes the focus.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the rows change.
  useEffect(() => {
    const isLost = hadFocus.current && document.activeElement === document.body;
    const isAwaited = waiting !== null && document.activeElement === waiting;
    if (!isLost && !isAwaited) return;
    rowAt(body.current, current)?.focus({ preventScroll: true });
    waiting = null;
  }, [ids]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setActive(index);
    rowAt(body.current, index)?.focus();
  };
  const setOpen = (id: string, isOpen: boolean) =>
    setUnfolded((now) => new Set(isOpen ? [...now, id] : [...now].filter((one) => one !== id)));
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>, { row, id, index }: RowOf<T>) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === 'ArrowDown' || key === 'j') move(index + 1);
    else if (key === 'ArrowUp' || key === 'k') move(index - 1);
    else if (key === 'Home') move(0);
    else if (key === 'End') move(rows.length - 1);
    else if (key === 'ArrowRight' && unfold) setOpen(id, true);
    else if (key === 'ArrowLeft' && unfold) setOpen(id, false);
    else if (key === 'Enter' && onOpen) onOpen(row);
    else if ((key === 'x' || key === ' ') && selection) selection.toggle(id, { ids, range: event.shiftKey });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event: MouseEvent<HTMLTableRowElement>, row: T) => {
    const isOwn = event.target instanceof Element && event.target.closest('a,button,input,label,summary');
    if (!isOwn && onOpen && getSelection()?.isCollapsed !== false) onOpen(row);
  };
  const acts: RowActs<T> = {
    onFocus({ row, index }) {
      hadFocus.current = true;
      setActive(index);
      onActive?.(row);
    },
    onBlur(event) {
      hadFocus.current = event.relatedTarget === null;
    },
    onKeyDown,
    onClick,
    onSelect: (id, isRange) => selection?.toggle(id, { ids, range: isRange }),
    onUnfold: setOpen,
  };
  const latestActs = useRef(acts);
  useLayoutEffect(() => {
    latestActs.current = acts;
  });
  // The order is always in sight: the column of it is shown even where it is hidden otherwise.
  const shown = useMemo(
    () => columns.filter((column) => !hidden?.has(column.id) || directionOf(column, sort) !== 'none'),
    [columns, hidden, sort],
  );
  const parts = useMemo(() => partsOf(shown), [shown]);
  const isAll = ids.length > 0 && ids.every((id) => selection?.has(id));

  const all = selection && (
    <input
      type="checkbox"
      className="size-4 align-middle"
      aria-label="Select all on this page"
      checked={isAll}
      onChange={() => selection.setAll(ids, !isAll)}
    />
  );

  return (
    <TableFrame bar={<CardBar all={all} columns={shown} sort={sort} onSort={onSort} />}>
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 z-[2] bg-surface">
          <tr className="border-b border-line">
            {all && (
              <th scope="col" className="w-9 pl-3">
                {all}
              </th>
            )}
            {unfold && (
              <th scope="col" className="w-8 pl-2">
                <span className="sr-only">Unfold</span>
              </th>
            )}
            {shown.map((column) => (
              <Header key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => {
            const id = rowId(row);
            return (
              <Fragment key={id}>
                <TableRow
                  row={row}
                  id={id}
                  index={index}
                  name={rowName?.(row) ?? id}
                  columns={shown}
                  parts={parts}
                  isCurrent={index === current}
                  canOpen={onOpen !== undefined}
                  isSelected={selection?.has(id)}
                  isUnfolded={unfold && unfolded.has(id)}
                  acts={latestActs}
                />
                {unfold && unfolded.has(id) && (
                  <tr className="border-b border-line bg-sunken last:border-0">
                    <td colSpan={shown.length + (selection ? 2 : 1)} data-part="unfolded" className="p-0">
                      <div className="sticky left-0 w-[100cqw] max-w-full">{unfold(row)}</div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </TableFrame>
  );
}

function partsOf<T>(columns: readonly Column<T>[]): readonly string[] {
  const isNamed = columns.some(({ part }) => part === 'name');
  return columns.map((column, i) => (i === 0 && !isNamed ? 'name' : partOf(column)));
}

/** The row of an item; those that unfold below it are no items. */
function rowAt(body: HTMLTableSectionElement | null, index: number): HTMLElement | undefined {
  return body?.querySelectorAll<HTMLElement>(':scope > tr[tabindex]')[index];
}

/** The field that had the focus when rows were asked for that had not come yet. */
let waiting: Element | null = null;

/**
 * Focuses the row of the page's table that last had the focus, or else the first. Where the rows are still to come,
 * they take the focus from the field, unless somebody types on in it.
 */
export function focusRows(): void {
  const row = document.querySelector<HTMLElement>('main tbody tr[tabindex="0"]');
  if (row) {
    row.focus();
  } else if (document.activeElement !== document.body) {
    waiting = document.activeElement;
    const typesOn = () => {
      waiting = null;
    };
    waiting?.addEventListener('input', typesOn, { once: true });
  }
}

type HeaderProps<T> = { column: Column<T> } & Pick<TableProps<T & object>, 'sort' | 'onSort'>;

function Header<T>({ column, sort, onSort }: HeaderProps<T>) {
  const { header, align } = column;
  const part = partOf(column);
  const roomy = column.roomy ? '' : undefined;
  // Two words beside each other, so that no header takes three lines.
  const width = header.includes(' ') ? 'min-w-[calc(9ch+2*var(--gap))]' : '';
  const className = `${width} px-(--gap) py-2 align-bottom text-[0.86rem] leading-tight font-medium text-muted ${align === 'right' ? 'text-right' : ''}`;
  if (column.sort === undefined || !onSort)
    return (
      <th scope="col" data-part={part} data-roomy={roomy} className={className}>
        {header}
      </th>
    );
  const field = column.sort;
  const direction = directionOf(column, sort);
  const Icon = { ascending: ArrowUp, descending: ArrowDown, none: ChevronsUpDown }[direction];
  return (
    <th scope="col" aria-sort={direction} data-part={part} data-roomy={roomy} className={className}>
      <button
        type="button"
        className={`inline-flex min-h-6 items-end gap-1 hover:text-text ${align === 'right' ? 'text-right' : 'text-left'}`}
        onClick={() => onSort(sortAfter({ ...column, sort: field }, sort))}
      >
        {header}
        <Icon
          aria-hidden="true"
          className={`size-3.5 shrink-0 ${direction === 'none' ? 'opacity-50' : 'text-accent'}`}
        />
      </button>
    </th>
  );
}
