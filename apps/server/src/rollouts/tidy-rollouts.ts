import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { deleteHostsOf, deleteRollout, endedRollouts } from './store.ts';

/** How long a rollout is kept after its end, in milliseconds: more than a year, so that each month can be compared with its last. */
export const ROLLOUT_KEPT_MS = 400 * 86_400_000;
/** Rollouts per run of the task, and hosts per transaction. */
const ROLLOUTS_MAX = 500;
const HOSTS_MAX = 1_000;

/**
 * Removes rollouts that ended long ago, with the rows of their hosts. Their decisions, tokens and events stay. A version that only
 * such a rollout has released goes through the rings again where a host is offered it; what rings have proved is kept.
 */
export function tidyRollouts({ database, now }: Pick<Platform, 'database' | 'now'>): TidyTask {
  return {
    what: 'rollouts',
    async run(isStopped) {
      const ids = await endedRollouts(database.read, {
        endedBeforeMs: (await retentionTime({ database, now })) - ROLLOUT_KEPT_MS,
        limit: ROLLOUTS_MAX,
      });
      let removed = 0;
      for (const id of ids) {
        let hosts: number;
        do {
          if (isStopped()) return removed;
          hosts = await database.transact((tx) => deleteHostsOf(tx, { id, limit: HOSTS_MAX }));
        } while (hosts === HOSTS_MAX);
        await database.transact((tx) => deleteRollout(tx, id));
        removed += 1;
      }
      return removed;
    },
  };
}
