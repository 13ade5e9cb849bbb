import { setImmediate } from 'node:timers/promises';
import { chunks } from './db/chunks.ts';

/** Lets the event loop turn once: between two pieces of work that are long enough by themselves. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** Works on the items part by part, and lets the event loop turn before each part. */
export async function inTurns<T>(
  items: readonly T[],
  { size, work }: { size: number; work: (part: readonly T[]) => Promise<void> | void },
): Promise<void> {
  for (const part of chunks(items, size)) {
    await nextTurn();
    await work(part);
  }
}
