import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';

/** Items under way at once. */
const UNDER_WAY = 8;
const ITEMS = 2_000;
const ITEMS_OF_COLLECTION = 50;
/** What each item weighs, in numbers of eight bytes. */
const WEIGHT = 1_000;

/** What all items weigh together, in bytes. */
export const WEIGHT_OF_ALL = ITEMS * WEIGHT * 8;

/** Keeps the weight with an item that it begins, and returns what ends the item. */
export type Begin = (weight: number[]) => () => void;

/**
 * Begins items and ends each a little later, while the young part of the heap is collected again and again. Returns how much got
 * into the old part, in bytes: it stays there until a whole collection, though nothing needs it. V8 may collect the whole by
 * itself meanwhile: what that takes away counts as well. Wants `--expose-gc`.
 */
export async function oldHeapGrowth(begin: Begin): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('Node has to be started with --expose-gc');
  const underWay: (() => void)[] = [];
  let [grown, last] = [0, 0];
  function look(): void {
    const now = oldBytes();
    grown += Math.max(0, now - last);
    last = now;
  }
  async function turnOver(items: number): Promise<void> {
    for (let n = 1; n <= items; n++) {
      underWay.push(begin(Array.from({ length: WEIGHT }, () => n + 0.5)));
      if (underWay.length > UNDER_WAY) underWay.shift()?.();
      if (n % ITEMS_OF_COLLECTION !== 0) continue;
      // Streams finish what they put off.
      await setImmediate();
      globalThis.gc?.({ type: 'minor' });
      look();
    }
  }
  await turnOver(UNDER_WAY);
  // What holds the items becomes old itself.
  for (let n = 0; n < 3; n++) globalThis.gc?.({ type: 'minor' });
  await turnOver(ITEMS_OF_COLLECTION);
  globalThis.gc?.({ type: 'major' });
  [grown, last] = [0, oldBytes()];
  await turnOver(ITEMS);
  return grown;
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
  if (old === undefined) throw new Error('V8 names no old part of the heap');
  return old.space_used_size;
}
