import { chunks } from './db/chunks.ts';
import { slices } from './slices.ts';

/** Before a piece of work that is long by itself: waits until others have had theirs where this turn is used up. */
export async function takeTurn(): Promise<void> {
  const turn = slices.turn();
  if (turn !== null) await turn;
}

/** Works on the items part by part, and lets the event loop turn before a part where this turn has been at work for long. */
export async function inTurns<T>(
  items: readonly T[],
  { size, work }: { size: number; work: (part: readonly T[]) => Promise<void> | void },
): Promise<void> {
  for (const part of chunks(items, size)) {
    await takeTurn();
    await work(part);
  }
}
