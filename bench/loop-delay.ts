import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** How often the loop is asked whether it still turns, in milliseconds. */
const EVERY_MS = 2;
const LONGEST = 10;

/**
 * Preloaded into a server (`--import …/loop-delay.ts?out=FILE`): notes how late each timer comes. `held` leaves out the
 * time in which the thread was ready and another program had the core, which no code of the server can help. On SIGUSR2
 * writes the longest since the last time into the file, in milliseconds, and begins anew.
 */
function watchLoop(file: string): void {
  let held: number[] = [];
  let longestMs = 0;
  let lastMs = performance.now();
  let lastWaitMs = waitedMs();
  setInterval(() => {
    const nowMs = performance.now();
    const waitMs = waitedMs();
    const lateMs = nowMs - lastMs - EVERY_MS;
    longestMs = Math.max(longestMs, lateMs);
    held.push(lateMs - (waitMs - lastWaitMs));
    if (held.length > 1_000) held = longestOf(held);
    lastMs = nowMs;
    lastWaitMs = waitMs;
  }, EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(file, JSON.stringify({ longestMs, heldMs: longestOf(held) }));
    held = [];
    longestMs = 0;
  });
}

function longestOf(held: readonly number[]): number[] {
  return held.toSorted((a, b) => b - a).slice(0, LONGEST);
}

/** How long the main thread has been ready without a core so far; Linux only. */
function waitedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 2)[1]) / 1e6;
  } catch {
    return 0;
  }
}

const out = new URL(import.meta.url).searchParams.get('out');
if (isMainThread && out !== null) watchLoop(out);
