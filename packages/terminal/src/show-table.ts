import { plainText } from './plain-text.ts';

/** Narrowest that a column is cut to, in characters: in a line for each item, where a time still fits, and in two. */
const READABLE_MIN = 17;
const COLUMN_MIN = 8;
const GAP = '  ';
/** An id is of use only as a whole. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The columns of a list: each heading with the cell that an item has there. Null shows as `-`. */
export type Columns<T> = Readonly<Record<string, (item: T) => Cell>>;
export type Cell = string | number | boolean | null | undefined;

/** The heading and one row for each item. */
export function rowsOf<T>(columns: Columns<T>, items: readonly T[]): string[][] {
  const cells = Object.values(columns);
  return [Object.keys(columns), ...items.map((item) => cells.map((cell) => cellText(cell(item))))];
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return String(cell);
}

/**
 * Aligned columns, each as wide as its widest cell; the first row is the heading. Where that is more than `width`, the widest
 * columns are cut, which `…` says, but none that holds ids. Where too little would be left of them, each item has two lines, the
 * first for its id, or what else names it.
 */
export function showTable(
  rows: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY } = {},
): string {
  const plain = rows.map((row) => row.map(plainText));
  const readable = widthsOf(plain, { width, least: READABLE_MIN });
  if (lineLength(readable) <= width) return plain.map((row) => lineOf(row, readable)).join('\n');
  const ids = readable.findIndex((_, column) => holdsIds(plain, column));
  const at = Math.max(ids, 0);
  const others = plain.map((row) => row.filter((_, column) => column !== at));
  const widths = widthsOf(others, { width: width - GAP.length, least: COLUMN_MIN });
  return plain
    .map((row, i) => `${cut(row[at] ?? '', width)}\n${GAP}${lineOf(others[i] ?? [], widths)}`)
    .join('\n');
}

function lineOf(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, at) => cut(cell, widths[at] ?? 0).padEnd(widths[at] ?? 0))
    .join(GAP)
    .trimEnd();
}

/** The width of each column, the widest ones cut until the line fits or they are down to `least`. */
function widthsOf(
  rows: readonly (readonly string[])[],
  { width, least }: { width: number; least: number },
): number[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const isWhole = widths.map((_, at) => holdsIds(rows, at));
  for (let left = lineLength(widths) - width; left > 0; left--) {
    const widest = Math.max(...widths.filter((_, at) => isWhole[at] === false));
    if (widest <= least) break;
    widths[widths.findIndex((each, at) => each === widest && isWhole[at] === false)] = widest - 1;
  }
  return widths;
}

function holdsIds(rows: readonly (readonly string[])[], at: number): boolean {
  return rows.some((row) => ID.test(row[at] ?? ''));
}

function lineLength(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}
