import { get, type Page, type Query } from './client.ts';

/** The largest page size of a list. */
const PAGE_MAX = 200;

export interface FetchAll {
  /** The most rows to fetch. */
  readonly max: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly fetched: number; readonly total: number }) => void;
}

/** Fetches a list page by page, up to `max` rows; `isCut` says that there are more. */
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
