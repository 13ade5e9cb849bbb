import { get, type Page, type Query } from './client.ts';

/** The largest page that a list answers. */
const PAGE_MAX = 200;

export interface FetchAll {
  /** Most rows that are fetched. */
  readonly max: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly fetched: number; readonly total: number }) => void;
}

/** Every row of a list, page by page, up to `max` of them; `isCut` where there are more. */
export async function fetchAll<T>(
  path: string,
  query: Query,
  { max, signal, onProgress }: FetchAll,
): Promise<{ readonly items: readonly T[]; readonly isCut: boolean }> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.min(PAGE_MAX, max - items.length);
    const page: Page<T> = await get(path, { query: { ...query, limit, cursor }, signal });
    items.push(...page.items);
    cursor = page.next_cursor;
    onProgress?.({ fetched: items.length, total: Math.min(max, page.total) });
  } while (cursor !== null && items.length < max);
  return { items, isCut: cursor !== null };
}
