import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

/** What of the server's data changes together; the first part of every query key. */
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
  'session',
] as const;
export type Topic = (typeof TOPICS)[number];

/** `live`: changes arrive by themselves; `polling`: we ask; `offline`: nobody answers. */
export type Connection = 'live' | 'polling' | 'offline';

const POLL_MS = 15_000;
/** Beside the stream, in case that it is silent for another reason than that nothing happens. */
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

/** How often a query on screen asks again, in milliseconds. */
export const refetchInterval = (): number => (connection === 'live' ? LIVE_POLL_MS : POLL_MS);

/** How long to wait before a stream that the browser gave up is opened again, in milliseconds. */
const REOPEN_MS = 3_000;

/** Follows the stream of changes until the returned function is called; every message makes its topic stale. */
export function followChanges(client: QueryClient): () => void {
  let source = open();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function open(): EventSource {
    const opened = new EventSource('/api/v1/stream');
    opened.addEventListener('open', () => {
      setConnection('live');
      // What happened while nobody listened.
      void client.invalidateQueries();
    });
    opened.addEventListener('error', () => {
      setConnection(connection === 'offline' || !navigator.onLine ? 'offline' : 'polling');
      // The browser tries again by itself only after some failures: not after an answer that is no stream.
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

/** What an answer, or the lack of one, says of the connection. */
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
