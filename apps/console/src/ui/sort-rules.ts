/** How a column is sorted. */
export interface SortedColumn {
  /** The field of the server's `sort` parameter; absent where the list cannot be sorted by it. */
  readonly sort?: string;
  /** The direction of the first click; lists of times and counts begin with the largest. */
  readonly sortFirst?: 'ascending' | 'descending';
  /** The server's plain order begins with the worst: people read that as descending. */
  readonly falls?: boolean;
}

/** The direction in which people see the column sorted. */
export function directionOf(
  { sort: field, falls = false }: SortedColumn,
  sort: string | undefined,
): 'ascending' | 'descending' | 'none' {
  if (field === undefined || sort === undefined || sort.replace(/^-/, '') !== field) return 'none';
  return sort.startsWith('-') === falls ? 'ascending' : 'descending';
}

/** The order after a click on the column: the other direction, or its first one. */
export function sortAfter(
  column: SortedColumn & { readonly sort: string },
  sort: string | undefined,
): string {
  if (directionOf(column, sort) === 'none') return firstSort(column);
  return sort === column.sort ? `-${column.sort}` : column.sort;
}

/** The order of the first click. */
export function firstSort({ sort, sortFirst }: SortedColumn & { readonly sort: string }): string {
  return sortFirst === 'descending' ? `-${sort}` : sort;
}
