import { keepPreviousData, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, get, type Page, type Query } from './client.ts';
import { noteAnswer, refetchInterval, type Topic } from './live.ts';

/** Answers that will not change by asking again. */
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

/** One thing at a path. */
export function oneQuery<T>(topic: Topic, path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [topic, path, query],
    queryFn: ({ signal }) => get<T>(path, { query, signal }),
  });
}

/** A page of a list; the page before stays on screen until the next one is there. */
export function listQuery<T>(topic: Topic, path: string, query: Query = {}) {
  return queryOptions({
    queryKey: [topic, path, query],
    queryFn: ({ signal }) => get<Page<T>>(path, { query, signal }),
    placeholderData: keepPreviousData,
  });
}
