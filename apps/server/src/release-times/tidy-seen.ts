import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { seenKey } from './seen-rules.ts';
import { deleteFirstSeen, pageOfFirstSeen, type SeenRow, supportedVersions } from './seen-store.ts';

/** Rows per transaction. */
const PAGE = 400;
/** A version that no host has or is offered is removed after this: a plan may still bring it. */
const UNSUPPORTED_MS = 90 * 86_400_000;

/**
 * Walks the ledger of first sightings. Removes a version that no living host has or is offered: immediately
 * if the host that brought it is gone too, else after 90 days. A returning version counts as young.
 */
export function tidyFirstSeen({ database, now }: Pick<Platform, 'database' | 'now'>): TidyTask {
  return {
    what: 'first sightings',
    async run(isStopped) {
      let after: SeenRow | null = null;
      let removed = 0;
      const before = (await retentionTime({ database, now })) - UNSUPPORTED_MS;
      while (!isStopped()) {
        const page: SeenRow[] = await pageOfFirstSeen(database.read, { after, limit: PAGE });
        const last = page.at(-1);
        if (!last) break;
        removed += await database.transact(async (tx) => {
          const supported = await supportedVersions(tx, page);
          const gone = page.filter(
            (row) => !supported.has(seenKey(row)) && (row.isOrphan || row.first_seen_at < before),
          );
          await deleteFirstSeen(tx, gone);
          return gone.length;
        });
        after = last;
      }
      return removed;
    },
  };
}
