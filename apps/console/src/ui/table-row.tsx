import { isolated } from '@tidegate/protocol/isolated';
import { ChevronRight } from 'lucide-react';
import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  type RefObject,
} from 'react';
import type { SortedColumn } from './sort-rules.ts';

export interface Column<T> extends SortedColumn {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** What its order is called in a list of orders, where that is not the header. */
  readonly order?: string;
  readonly align?: 'right';
  /** Takes the remaining width, or shares it with others, and is truncated; the rest is as wide as its content. */
  readonly wide?: boolean;
  /** A sentence: takes up to three lines before it is cut. */
  readonly wraps?: boolean;
  /** Left out where the table has less room than on a screen of 1,200 pixels: the page of the item has it. */
  readonly roomy?: boolean;
  /** A short phrase: whole where there is room, else broken between its words rather than that the table scrolls. */
  readonly folds?: boolean;
  /** Never cut: its content is bounded by itself, such as badges. */
  readonly whole?: boolean;
  /**
   * `name`: what the row is, by itself the first column; `pinned`: the verdict or the state, which stays in sight where
   * the table scrolls sideways, and beside the name on a phone.
   */
  readonly part?: 'name' | 'pinned';
}

/** What a table makes a row of. */
export interface RowOf<T> {
  readonly row: T;
  readonly id: string;
  readonly index: number;
}

/** What a row tells its table. */
export interface RowActs<T> {
  onFocus(row: RowOf<T>): void;
  onBlur(event: FocusEvent<HTMLTableRowElement>): void;
  onKeyDown(event: KeyboardEvent<HTMLTableRowElement>, row: RowOf<T>): void;
  onClick(event: MouseEvent<HTMLTableRowElement>, row: T): void;
  onSelect(id: string, isRange: boolean): void;
  onUnfold(id: string, isOpen: boolean): void;
}

interface TableRowProps<T> extends RowOf<T> {
  readonly name: string;
  readonly columns: readonly Column<T>[];
  /** The place of each column. */
  readonly parts: readonly string[];
  /** The one row that the Tab key reaches. */
  readonly isCurrent: boolean;
  readonly canOpen: boolean;
  /** Absent: rows cannot be selected; the same for the next. */
  readonly isSelected: boolean | undefined;
  readonly isUnfolded: boolean | undefined;
  /** The same object for as long as the table is shown. */
  readonly acts: RefObject<RowActs<T>>;
}

function PlainTableRow<T>(props: TableRowProps<T>) {
  const { row, id, index, name, columns, parts, isCurrent, canOpen, isSelected, isUnfolded, acts } = props;
  const own = { row, id, index };
  const isShared = columns.filter(({ wide }) => wide).length > 1;
  return (
    <tr
      tabIndex={isCurrent ? 0 : -1}
      aria-selected={isSelected}
      onBlur={(event) => acts.current.onBlur(event)}
      onFocus={() => acts.current.onFocus(own)}
      onKeyDown={(event) => acts.current.onKeyDown(event, own)}
      onClick={(event) => acts.current.onClick(event, row)}
      className={`h-(--row) border-b border-line last:border-0 ${canOpen ? 'cursor-pointer' : ''} ${isSelected ? 'bg-accent-soft [--behind:var(--accent-soft)]' : 'hover:bg-sunken hover:[--behind:var(--sunken)]'}`}
    >
      {isSelected !== undefined && (
        <td data-part="select" className="w-9 pl-3">
          <input
            type="checkbox"
            tabIndex={-1}
            className="size-4 align-middle"
            aria-label={`Select ${isolated(name)}`}
            checked={isSelected}
            onChange={() => undefined}
            onClick={(event) => acts.current.onSelect(id, event.shiftKey)}
          />
        </td>
      )}
      {isUnfolded !== undefined && (
        <td data-part="select" className="w-8 pl-2">
          <UnfoldButton
            name={name}
            isOpen={isUnfolded}
            onToggle={(isOpen) => acts.current.onUnfold(id, isOpen)}
          />
        </td>
      )}
      {columns.map(({ id: column, header, cell, align, ...how }, i) => (
        <td
          key={column}
          data-part={parts[i]}
          data-label={header}
          data-roomy={how.roomy ? '' : undefined}
          onPointerEnter={showCut}
          className={`px-(--gap) py-1 ${align === 'right' ? 'text-right tabular-nums' : ''} ${widthOf(how, isShared)}`}
        >
          {inPlace(cell(row), how)}
        </td>
      ))}
    </tr>
  );
}

/** What a cell shows, with the place that bounds it. */
function inPlace(shown: ReactNode, { wraps, folds }: Pick<Column<never>, 'wraps' | 'folds'>): ReactNode {
  if (wraps) return <div className="clamped whitespace-normal wrap-anywhere">{shown}</div>;
  return folds ? <div className="folds">{shown}</div> : shown;
}

/** A row is made anew when what it shows changes, not whenever its table is: most of the work of a list is its rows. */
export const TableRow = memo(PlainTableRow) as typeof PlainTableRow;

function UnfoldButton(props: { name: string; isOpen: boolean; onToggle: (isOpen: boolean) => void }) {
  const { name, isOpen, onToggle } = props;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      aria-label={`Contents of ${isolated(name)}`}
      onClick={() => onToggle(!isOpen)}
      className="inline-flex size-6 items-center justify-center rounded align-middle text-muted hover:text-text"
    >
      <ChevronRight aria-hidden="true" className={`size-4 ${isOpen ? 'rotate-90' : ''}`} />
    </button>
  );
}

function widthOf(
  { wide, wraps, whole }: Pick<Column<never>, 'wide' | 'wraps' | 'whole'>,
  isShared: boolean,
): string {
  if (wide)
    return `${isShared ? 'w-1/2' : 'w-full'} max-w-0 ${wraps ? 'min-w-(--wraps)' : 'min-w-(--wide)'} truncate`;
  if (wraps) return 'min-w-(--wraps) max-w-80';
  return whole ? 'whitespace-nowrap' : 'max-w-80 truncate';
}

/** Names a text that its column cuts off. */
function showCut({ currentTarget: cell }: PointerEvent<HTMLTableCellElement>): void {
  const inside = cell.querySelector('.clamped, .folds');
  const isCut = [cell, ...(inside ? [inside] : [])].some(
    (one) => one.scrollWidth > one.clientWidth || (one === inside && one.scrollHeight > one.clientHeight + 1),
  );
  if (isCut) cell.title = cell.textContent ?? '';
  else cell.removeAttribute('title');
}

/** The place of a column for the styles; buttons of a row are under this header everywhere. */
export function partOf<T>({ part, header }: Column<T>): string {
  return part ?? (header === 'Actions' ? 'acts' : 'fact');
}
