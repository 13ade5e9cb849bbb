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

export function setConnection(next: Connection): void {
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

/** Follows the stream of changes until the returned function is called; every message makes its topic stale. */
export function followChanges(client: QueryClient): () => void {
  const source = new EventSource('/api/v1/stream');
  source.addEventListener('open', () => {
    setConnection('live');
    // What happened while nobody listened.
    void client.invalidateQueries();
  });
  source.addEventListener('error', () => setConnection(navigator.onLine ? 'polling' : 'offline'));
  source.addEventListener('message', (message: MessageEvent<string>) => {
    const topic = topicOf(message.data);
    if (topic === null) return;
    void client.invalidateQueries({ queryKey: [topic] });
    void client.invalidateQueries({ queryKey: ['overview'] });
  });
  return () => {
    source.close();
    setConnection('polling');
  };
}

function topicOf(data: string): Topic | null {
  try {
    const message: { topic?: unknown } = JSON.parse(data);
    return TOPICS.find((topic) => topic === message.topic) ?? null;
  } catch {
    return null;
  }
}
