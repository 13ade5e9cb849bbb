import { type Columns, rowsOf, showTable } from '@tidegate/terminal/show-table';
import type { CliWorld } from './command.ts';

/** A list as a table, or as JSON of the API's form, so that scripts read one form from `tidegate` and `tidegatectl`. */
export function showList<T>(
  world: CliWorld,
  columns: Columns<T>,
  { items, json }: { items: readonly T[]; json: boolean },
): void {
  world.out(json ? JSON.stringify({ items }, null, 2) : tableOf(world, columns, items));
}

/** A table that fits the terminal. */
export function tableOf<T>({ columns: width }: CliWorld, columns: Columns<T>, items: readonly T[]): string {
  return showTable(rowsOf(columns, items), width === undefined ? {} : { width });
}
