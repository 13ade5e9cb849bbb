import { queryOptions } from '@tanstack/react-query';
import { get } from '../api/client.ts';
import type { ListedPage } from '../api/queries.ts';
import type { Pager } from '../ui/list-panel.tsx';

/** A short list that the server answers as a whole, in the form of a page. */
export function wholeList<T>(path: string) {
  return queryOptions({
    queryKey: ['notifications', path],
    queryFn: async ({ signal }): Promise<ListedPage<T>> => {
      const { items } = await get<{ items: readonly T[] }>(path, { signal });
      return {
        items,
        next_cursor: null,
        total: items.length,
        list: { topic: 'notifications' as const, path, query: {} },
      };
    },
  });
}

export const ONE_PAGE: Pager = { isFirst: true, next: () => {}, back: () => {} };
