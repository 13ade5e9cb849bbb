import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { dropPart, findOldPart } from './parts-store.ts';
import { PARTS_LIFETIME_MS } from './take-part.ts';

/** Drops parts of reports that were never completed, one after another: a host that sends nothing more would keep them for ever. */
export function tidyParts({ database, now }: Pick<Platform, 'database' | 'now'>): TidyTask {
  return {
    what: 'parts of unfinished reports',
    async run(isStopped) {
      const beforeMs = now() - PARTS_LIFETIME_MS;
      for (let removed = 0; ; removed++) {
        const old = isStopped() ? null : await findOldPart(database.read, beforeMs);
        if (old === null) return removed;
        const { agent_id: agentId, ...named } = old;
        await database.transact((tx) => dropPart(tx, { agentId, ...named }));
      }
    },
  };
}
