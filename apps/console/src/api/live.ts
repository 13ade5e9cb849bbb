import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

/** Data that changes together; the first part of every query key. */
export const TOPICS = [
  'updates',
  'hosts',
  'commands',
  'events',
  'keys',
  'limits',
  'operators',
  'advisories',
  'bulk',
  'overview',
  'enrolment',
  'notifications',
  'session',
] as const;
export type Topic = (typeof TOPICS)[number];

/** `live`: the stream delivers changes; `polling`: queries refetch; `offline`: the server does not answer. */
export type Connection = 'live' | 'polling' | 'offline';

const POLL_MS = 15_000;
/** The interval beside the stream, in case the stream stalls. */
const LIVE_POLL_MS = 60_000;

let connection: Connection = 'polling';
const listeners = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connection,
  );
}

/** How often a query on screen refetches, in milliseconds. */
export const refetchInterval = (): number => (connection === 'live' ? LIVE_POLL_MS : POLL_MS);

/** How long to wait before reopening a stream that the browser gave up, in milliseconds. */
const REOPEN_MS = 3_000;

/** Follows the stream of changes until the returned function is called; every message makes its topic stale. */
export function followChanges(client: QueryClient): () => void {
  let source = open();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function open(): EventSource {
    const opened = new EventSource('/api/v1/stream');
    opened.addEventListener('open', () => {
      setConnection('live');
      // Catches up on changes missed while disconnected.
      void client.invalidateQueries();
    });
    opened.addEventListener('error', () => {
      setConnection(connection === 'offline' || !navigator.onLine ? 'offline' : 'polling');
      // The browser reconnects after some failures only: not after a response that is not a stream.
      if (opened.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        source = open();
      }, REOPEN_MS);
    });
    opened.addEventListener('message', (message: MessageEvent<string>) => {
      const topic = topicOf(message.data);
      if (topic === null) return;
      void client.invalidateQueries({ queryKey: [topic] });
      void client.invalidateQueries({ queryKey: ['overview'] });
    });
    return opened;
  }

  return () => {
    clearTimeout(timer);
    source.close();
    setConnection('polling');
  };
}

/** Updates the connection state: whether the server answered a query. */
export function noteAnswer(isAnswered: boolean): void {
  if (!isAnswered) setConnection('offline');
  else if (connection === 'offline') setConnection('polling');
}

function topicOf(data: string): Topic | null {
  try {
    const message: { topic?: unknown } = JSON.parse(data);
    return TOPICS.find((topic) => topic === message.topic) ?? null;
  } catch {
    return null;
  }
}
