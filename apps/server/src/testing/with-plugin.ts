import { createQueryId } from 'kysely';
import { chainEvents } from '../events/chain-events.ts';
import type { Database, Tx } from '../platform/db/engine.ts';

export type Plugin = Parameters<Tx['withPlugin']>[0];

/** Does the work with a plugin on every statement, those that chain the events too. */
export async function withPlugin<T>(tx: Tx, plugin: Plugin, work: (tx: Tx) => Promise<T>): Promise<T> {
  const plugged: Tx = Object.assign(tx.withPlugin(plugin), {
    ...{ seals: tx.seals, context: tx.context, run: shown(tx.run, plugin) },
    runEach: shown(tx.runEach, plugin),
  });
  const result = await work(plugged);
  // The step before the commit finds none left.
  await chainEvents(plugged);
  return result;
}

/** The reads of a database, with a plugin on those that Kysely builds. */
export function readsWithPlugin({ read }: Pick<Database, 'read'>, plugin: Plugin): Database['read'] {
  return Object.assign(read.withPlugin(plugin), { seals: read.seals, run: read.run });
}

/** The plugin learns of each statement of the hot path when it has run, and without its rows. */
export function shown<A extends unknown[], R>(
  run: (...args: A) => Promise<R>,
  plugin: Plugin,
): (...args: A) => Promise<R> {
  return async (...args) => {
    const result = await run(...args);
    await plugin.transformResult({ result: { rows: [] }, queryId: createQueryId() });
    return result;
  };
}
