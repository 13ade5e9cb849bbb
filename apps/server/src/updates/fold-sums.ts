import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { foldSums, SUMS_CHUNK } from './sums-store.ts';

const EVERY_MS = 5_000;

/**
 * Folds the differences that writers of updates leave into the sums of packages. Only PostgreSQL needs it:
 * concurrent writers must not wait for the row of a package that they share. The sums are right before and
 * after, because readers add the remaining differences; folding keeps those few.
 */
export function createSumFolder(platform: Pick<Platform, 'database' | 'log'>): BackgroundWork {
  const { database, log } = platform;
  return repeat({
    intervalMs: EVERY_MS,
    async run(isStopped) {
      if (database.engine === 'sqlite') return;
      try {
        while (!isStopped() && (await foldSums(database)) === SUMS_CHUNK);
      } catch (error) {
        log.error('the sums of packages were not added up', { error: String(error) });
      }
    },
  });
}
