import { setTimeout } from 'node:timers/promises';
import { chunks } from './db/chunks.ts';
import { slices } from './slices.ts';

/** Call it before a long piece of work: yields to others if this turn is used up. */
export async function takeTurn(): Promise<void> {
  const turn = slices.turn();
  if (turn !== null) await turn;
}

/** How many times as long as a piece the rest after it is, and its longest, in milliseconds. */
const REST_TIMES = 3;
const REST_MAX_MS = 50;

/**
 * For work over the whole fleet that nobody waits for: call it after each piece. It rests for three times as long as the
 * piece took, so that the work takes a quarter of the time. libuv accepts one connection of a listening socket in each turn of the event
 * loop: work that goes on in every other turn keeps new ones waiting.
 */
export function createPace({
  nowMs = () => performance.now(),
  rest = async (ms: number) => void (await setTimeout(ms)),
}: {
  nowMs?: () => number;
  rest?: (ms: number) => Promise<void>;
} = {}): () => Promise<void> {
  let beganMs = nowMs();
  return async () => {
    await rest(Math.min((nowMs() - beganMs) * REST_TIMES, REST_MAX_MS));
    beganMs = nowMs();
  };
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

/** Items that are sorted or merged between two turns: some milliseconds. */
const SORTED_AT_ONCE = 2_000;

/** Sorts as `toSorted` does, and lets the event loop turn meanwhile. */
export async function sortInTurns<T>(items: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  let runs: T[][] = [];
  await inTurns(items, { size: SORTED_AT_ONCE, work: (part) => void runs.push(part.toSorted(compare)) });
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (const [first = [], second = []] of chunks(runs, 2)) merged.push(await merge(first, second, compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Of two sorted lists; of equal items those of the first come first. */
async function merge<T>(
  first: readonly T[],
  second: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<T[]> {
  const merged: T[] = [];
  const others = second.values();
  let other = others.next();
  for (const item of first) {
    if (merged.length % SORTED_AT_ONCE === 0) await takeTurn();
    for (; other.done !== true && compare(other.value, item) < 0; other = others.next()) {
      merged.push(other.value);
      if (merged.length % SORTED_AT_ONCE === 0) await takeTurn();
    }
    merged.push(item);
  }
  for (; other.done !== true; other = others.next()) merged.push(other.value);
  return merged;
}
