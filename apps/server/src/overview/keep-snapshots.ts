import type { GroupScope } from '../platform/db/group-scope.ts';
import { type Fresh, keepFresh } from '../platform/keep-fresh.ts';
import type { Platform } from '../platform/platform.ts';
import { type Snapshot, takeSnapshot } from './take-snapshot.ts';

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

/** Counts at most every few seconds for all callers; only a first caller waits long. */
export function createSnapshots(
  platform: Pick<Platform, 'database' | 'now' | 'log'>,
  { take = takeSnapshot }: { take?: typeof takeSnapshot } = {},
): Snapshots {
  const kept = new Map<string, Fresh<Snapshot>>();

  function keptOf(scope: GroupScope): Fresh<Snapshot> {
    const key = scope === null ? '' : JSON.stringify([...scope].sort());
    const found =
      kept.get(key) ??
      keepFresh(platform, { take: () => take(platform, scope), failure: 'the overview was not counted' });
    // Moves the latest used entry to the end, so that it is dropped last.
    kept.delete(key);
    kept.set(key, found);
    const [oldest] = kept.keys();
    if (kept.size > SCOPES_MAX && oldest !== undefined) kept.delete(oldest);
    return found;
  }

  return {
    of: (scope) => keptOf(scope).get(),
    count: () => keptOf(null).count(),
    async stop() {
      await Promise.allSettled([...kept.values()].map((one) => one.stop()));
    },
  };
}
