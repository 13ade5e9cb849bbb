import { chainEvents } from '../events/chain-events.ts';
import type { Tx } from '../platform/db/engine.ts';

export type Plugin = Parameters<Tx['withPlugin']>[0];

/** Does the work with a plugin on every statement, those that chain the events too. */
export async function withPlugin<T>(tx: Tx, plugin: Plugin, work: (tx: Tx) => Promise<T>): Promise<T> {
  const plugged: Tx = Object.assign(tx.withPlugin(plugin), { seals: tx.seals, context: tx.context });
  const result = await work(plugged);
  // The step before the commit finds none left.
  await chainEvents(plugged);
  return result;
}
