import { useSyncExternalStore } from 'react';
import { onShift, serverNow } from '../api/server-time.ts';
import { lastingTime, relativeTime } from './relative-time-rules.ts';
import { utcText } from './utc-text.ts';

const TICK_MS = 15_000;
let nowMs = serverNow();
const listeners = new Set<() => void>();
function tick(): void {
  nowMs = serverNow();
  for (const listener of listeners) listener();
}
setInterval(tick, TICK_MS);
onShift(tick);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The time now by the server's clock, in milliseconds, updated every 15 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** A relative time; the exact one, in UTC, on hover. */
export function Time({ at, empty = 'never' }: { at: string | null; empty?: string }) {
  const now = useNow();
  if (at === null) return <span className="text-muted">{empty}</span>;
  return (
    <time dateTime={at} title={utcText(at)} className="whitespace-nowrap">
      {relativeTime(Date.parse(at), now)}
    </time>
  );
}

/** How long something has been so: `for 2 d`; since when exactly, in UTC, on hover. After "since" no `Time` stands. */
export function Lasting({ since }: { since: string }) {
  const now = useNow();
  return (
    <time dateTime={since} title={`since ${utcText(since)}`} className="whitespace-nowrap">
      {lastingTime(Date.parse(since), now)}
    </time>
  );
}
