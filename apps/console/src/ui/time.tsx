import { useSyncExternalStore } from 'react';
import { relativeTime } from './relative-time-rules.ts';

const TICK_MS = 15_000;
let nowMs = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  nowMs = Date.now();
  for (const listener of listeners) listener();
}, TICK_MS);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The time now, in milliseconds, updated every 15 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** A relative time; the exact one, in UTC, on hover. */
export function Time({ at, empty = 'never' }: { at: string | null; empty?: string }) {
  const now = useNow();
  if (at === null) return <span className="text-muted">{empty}</span>;
  return (
    <time
      dateTime={at}
      title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}
      className="whitespace-nowrap"
    >
      {relativeTime(Date.parse(at), now)}
    </time>
  );
}
