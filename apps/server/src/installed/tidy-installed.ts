import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { CHANGES_DAYS, forgetChanges, pageOfHistories } from './changes-store.ts';
import { deleteUnused, markUnused, pageOfIdentities } from './identity-store.ts';

/** Identities, and hosts, per statement. */
const PAGE = 400;
/** Longer than any transaction: one that read an identity before it was marked has ended by then, and its rows are seen. */
const UNUSED_MS = 3_600_000;

/**
 * Deletes identities that no host has and no history names, an hour after they were first found so. What a host makes the server
 * keep is bounded by what it has, by its history, and by what it may report in a few hours.
 */
export function tidyIdentities({ database, now }: Pick<Platform, 'database' | 'now'>): TidyTask {
  return {
    what: 'package identities',
    async run(isStopped) {
      let removed = 0;
      const nowMs = await retentionTime({ database, now });
      for (let after = 0; !isStopped(); ) {
        const page = await database.transact(async (tx) => {
          const rows = await pageOfIdentities(tx, { after, limit: PAGE });
          const unused = rows.filter(({ isUsed }) => !isUsed);
          const isMarked = (row: (typeof rows)[number]) => row.unused_since !== null;
          const idsOf = (some: typeof rows) => some.map(({ id }) => id);
          const marked = idsOf(unused.filter(isMarked));
          removed += await deleteUnused(tx, { ids: marked, beforeMs: nowMs - UNUSED_MS });
          await markUnused(tx, { ids: idsOf(unused.filter((row) => !isMarked(row))), nowMs });
          return rows;
        });
        const last = page.at(-1);
        if (!last) break;
        after = last.id;
      }
      return removed;
    },
  };
}

/** Deletes changes of inventories that are older than CHANGES_DAYS, one host after another. */
export function tidyChanges({ database, now }: Pick<Platform, 'database' | 'now'>): TidyTask {
  return {
    what: 'changes of inventories',
    async run(isStopped) {
      let removed = 0;
      const beforeMs = (await retentionTime({ database, now })) - CHANGES_DAYS * 86_400_000;
      for (let after = 0; !isStopped(); ) {
        const page = await pageOfHistories(database.read, { after, beforeMs, limit: PAGE });
        for (const { number, last } of page) {
          if (last === null || isStopped()) continue;
          removed += await database.transact((tx) => forgetChanges(tx, { agentNumber: number, upTo: last }));
        }
        const end = page.at(-1);
        if (!end) break;
        after = end.number;
      }
      return removed;
    },
  };
}
