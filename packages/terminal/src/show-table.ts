import { plainText } from './plain-text.ts';

/** Narrowest that a column is cut to, in characters. */
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
 * columns are cut, but none that holds ids.
 */
export function showTable(
  rows: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY } = {},
): string {
  const plain = rows.map((row) => row.map(plainText));
  const widths = (plain[0] ?? []).map((_, at) => Math.max(...plain.map((row) => row[at]?.length ?? 0)));
  const isWhole = widths.map((_, at) => plain.some((row) => ID.test(row[at] ?? '')));
  narrow(widths, { isWhole, excess: lineLength(widths) - width });
  return plain
    .map((row) =>
      row
        .map((cell, at) => cut(cell, widths[at] ?? 0).padEnd(widths[at] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

function lineLength(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length);
}

function narrow(widths: number[], { isWhole, excess }: { isWhole: boolean[]; excess: number }): void {
  for (let left = excess; left > 0; left--) {
    const widest = Math.max(...widths.filter((_, at) => isWhole[at] === false));
    if (widest <= COLUMN_MIN) return;
    const at = widths.findIndex((each, i) => each === widest && isWhole[i] === false);
    widths[at] = widest - 1;
  }
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}
