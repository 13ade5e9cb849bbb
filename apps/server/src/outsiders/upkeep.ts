import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { dayOf } from './budget-rules.ts';
import { deleteUsageBefore } from './store.ts';

const INTERVAL_MS = 3_600_000;
/** Days of usage that doctor shows, besides today. */
export const USAGE_DAYS = 2;

/** Removes obsolete rows of one kind; ends early if the server stops. Returns how many it removed. */
export interface TidyTask {
  readonly what: string;
  run(isStopped: () => boolean): Promise<number>;
}

/** Removes obsolete rows of outsiders every hour. */
export function createOutsiderUpkeep(platform: Platform, tasks: readonly TidyTask[]): BackgroundWork {
  const usage: TidyTask = {
    what: 'usage of outsiders',
    async run() {
      const before = dayOf(await retentionTime(platform)) - USAGE_DAYS;
      await platform.database.transact((tx) => deleteUsageBefore(tx, before));
      return 0;
    },
  };
  return repeat({
    intervalMs: INTERVAL_MS,
    async run(isStopped) {
      for (const task of [usage, ...tasks]) {
        try {
          const removed = await task.run(isStopped);
          if (removed > 0) platform.log.info('tidied', { what: task.what, removed });
        } catch (error) {
          // An unavailable database must not end the process: the next run tries again.
          platform.log.error('tidying failed', { what: task.what, error: String(error) });
        }
      }
    },
  });
}
