import type { Scheduler } from 'fast-check';
import { withWorkBeforeCommit } from '../platform/db/before-commit.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import { sealedDatabase, sealsOf } from '../platform/db/row-seals.ts';

/** Who says when each step goes on; null where they go on by themselves. */
export interface Stage {
  scheduler: Scheduler | null;
}

/**
 * A database whose transactions wait for a scheduler of fast-check: before they begin, after each statement, and
 * between commit and answer. What runs inside of one waits with its locks held, as on a slow disk or network.
 */
export function scheduled(database: Database, stage: Stage): Database {
  const pause = async (label: string) => {
    await stage.scheduler?.schedule(Promise.resolve(), label);
  };
  const plugin: Parameters<Tx['withPlugin']>[0] = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await pause('statement');
      return result;
    },
  };
  const paused: Database = {
    ...database,
    async transact(work) {
      await pause('begin');
      const result = await database.transact((tx) => withWorkBeforeCommit(work)(tx.withPlugin(plugin)));
      await pause('answer');
      return result;
    },
  };
  return sealedDatabase(paused, sealsOf(database.read));
}
