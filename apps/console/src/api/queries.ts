import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, get, type Page, type Query } from './client.ts';
import { noteAnswer, refetchInterval, type Topic } from './live.ts';

/** Statuses that a retry does not change. */
const FINAL = new Set([400, 401, 403, 404, 409]);
const RETRIES_MAX = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchInterval,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < RETRIES_MAX && !(error instanceof ApiError && FINAL.has(error.status)),
    },
  },
});

queryClient.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated') return;
  if (event.action.type === 'success') noteAnswer(true);
  if (event.action.type === 'failed' || event.action.type === 'error') {
    const { error } = event.action;
    noteAnswer(!(error instanceof ApiError && error.code === 'unreachable'));
  }
});

/** A query for one object. */
export function oneQuery<T>(topic: Topic, path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [topic, path, query],
    queryFn: ({ signal }) => get<T>(path, { query, signal }),
  });
}

/** The list that a page is of, for its file. */
export interface OfList {
  readonly list: { readonly topic: Topic; readonly path: string; readonly query: Query };
}

export type ListedPage<T> = Page<T> & OfList;

/** A query for a page of a list; the previous page stays on screen until the next one arrives. */
export function listQuery<T, P extends Page<T> = Page<T>>(topic: Topic, path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [topic, path, query],
    queryFn: async ({ signal }): Promise<P & OfList> => ({
      ...(await get<P>(path, { query, signal })),
      list: { topic, path, query },
    }),
    placeholderData: keepPreviousData,
  });
}

/** Asks for another page of a list before the router has brought the console there: the two take about as long. */
export function fetchAhead({ topic, path, query }: OfList['list'], changes: Query): void {
  void queryClient.prefetchQuery(listQuery(topic, path, { ...query, ...changes }));
}
