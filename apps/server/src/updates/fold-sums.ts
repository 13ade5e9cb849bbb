import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { foldSums, SUMS_CHUNK } from './sums-store.ts';

const EVERY_MS = 5_000;

/**
 * Adds up what the writers of updates left for the sums of packages. Only PostgreSQL needs it: there many write at once
 * and none waits for the row of a package that all of them have. The sums are right before and after, since readers
 * count what is left too; this keeps that short.
 */
export function createSumKeeper(platform: Pick<Platform, 'database' | 'log'>): BackgroundWork {
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
