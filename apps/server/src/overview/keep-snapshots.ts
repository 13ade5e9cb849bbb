import { setTimeout as pause } from 'node:timers/promises';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { type Snapshot, takeSnapshot } from './take-snapshot.ts';

/** Younger counts are answered unchanged, in milliseconds. */
const FRESH_MS = 5_000;
/** Maximum share of time spent on counting. */
const SHARE = 20;
/** How long an answer waits for new counts if there are older ones, in milliseconds. */
const WAIT_MS = 40;
/** Sets of groups whose counts are cached. */
const SCOPES_MAX = 50;

export interface Snapshots {
  /** Current or slightly older counts, with their time. */
  of(scope: GroupScope): Promise<Snapshot>;
  /** Counts the whole fleet, however long that takes; waits for a count in progress. */
  count(): Promise<Snapshot>;
  /** Waits for counts in progress. */
  stop(): Promise<void>;
}

interface Kept {
  snapshot: Snapshot | null;
  tookMs: number;
  running: Promise<Snapshot> | null;
}

/** Counts at most every few seconds for all callers; only a first caller waits long. */
export function createSnapshots(
  platform: Pick<Platform, 'database' | 'now' | 'log'>,
  { take = takeSnapshot }: { take?: typeof takeSnapshot } = {},
): Snapshots {
  const kept = new Map<string, Kept>();

  function keptOf(scope: GroupScope): Kept {
    const key = scope === null ? '' : JSON.stringify([...scope].sort());
    const found = kept.get(key) ?? { snapshot: null, tookMs: 0, running: null };
    // Moves the latest used entry to the end, so that it is dropped last.
    kept.delete(key);
    kept.set(key, found);
    const [oldest] = kept.keys();
    if (kept.size > SCOPES_MAX && oldest !== undefined) kept.delete(oldest);
    return found;
  }

  function count(one: Kept, scope: GroupScope): Promise<Snapshot> {
    const startMs = performance.now();
    one.running ??= take(platform, scope)
      .then((snapshot) => {
        one.snapshot = snapshot;
        one.tookMs = performance.now() - startMs;
        return snapshot;
      })
      .finally(() => {
        one.running = null;
      });
    return one.running;
  }

  return {
    async of(scope) {
      const one = keptOf(scope);
      const { snapshot } = one;
      if (snapshot === null) return count(one, scope);
      const ageMs = Math.abs(platform.now() - snapshot.asOfMs);
      if (ageMs < Math.max(FRESH_MS, SHARE * one.tookMs)) return snapshot;
      const next = count(one, scope).catch((error: unknown) => {
        platform.log.warn('the overview was not counted', { error: String(error) });
        return snapshot;
      });
      return Promise.race([next, pause(WAIT_MS, snapshot)]);
    },
    count: () => count(keptOf(null), null),
    async stop() {
      await Promise.allSettled([...kept.values()].map(({ running }) => running));
    },
  };
}
