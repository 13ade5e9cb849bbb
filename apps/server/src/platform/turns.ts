import { chunks } from './db/chunks.ts';
import { slices } from './slices.ts';

/** Call it before a long piece of work: yields to others if this turn is used up. */
export async function takeTurn(): Promise<void> {
  const turn = slices.turn();
  if (turn !== null) await turn;
}

/** Processes the items in batches, and lets the event loop turn before a batch if this turn is used up. */
export async function inTurns<T>(
  items: readonly T[],
  { size, work }: { size: number; work: (part: readonly T[]) => Promise<void> | void },
): Promise<void> {
  for (const part of chunks(items, size)) {
    await takeTurn();
    await work(part);
  }
}
