import type { Scheduler } from 'fast-check';
import type { Database } from '../platform/db/engine.ts';
import { type Plugin, withPlugin } from './with-plugin.ts';

/** Decides when each step continues; null: immediately. */
export interface Stage {
  scheduler: Scheduler | null;
}

/**
 * A database whose transactions wait for a scheduler of fast-check: before they begin, after each statement,
 * and between commit and answer. A waiting transaction holds its locks, as on a slow disk or network.
 */
export function scheduled(database: Database, stage: Stage): Database {
  const pause = async (label: string) => {
    await stage.scheduler?.schedule(Promise.resolve(), label);
  };
  const plugin: Plugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await pause('statement');
      return result;
    },
  };
  return {
    ...database,
    async transact(work) {
      await pause('begin');
      const result = await database.transact((tx) => withPlugin(tx, plugin, work));
      await pause('answer');
      return result;
    },
  };
}
