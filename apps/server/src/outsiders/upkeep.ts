import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { dayOf } from './budget-rules.ts';
import { deleteUsageBefore } from './store.ts';

const INTERVAL_MS = 3_600_000;
/** Usage of today and of the days before that doctor shows. */
export const USAGE_DAYS = 2;

/** Tidies one thing that outsiders wrote; ends early where the server stops. Returns how many rows went. */
export interface TidyTask {
  readonly what: string;
  run(isStopped: () => boolean): Promise<number>;
}

/** Every hour: what outsiders wrote and nobody needs any more goes. */
export function createOutsiderUpkeep(platform: Platform, tasks: readonly TidyTask[]): BackgroundWork {
  const usage: TidyTask = {
    what: 'usage of outsiders',
    async run() {
      const before = dayOf(platform.now()) - USAGE_DAYS;
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
          // A database that is away must not end the process: the next run tries again.
          platform.log.error('tidying failed', { what: task.what, error: String(error) });
        }
      }
    },
  });
}
