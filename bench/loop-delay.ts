import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Interval of the timer whose delay is measured, in milliseconds. */
const EVERY_MS = 2;
const LONGEST = 10;

/**
 * Preloaded into a server (`--import …/loop-delay.ts?out=FILE`): records how late each timer fires. `blocked` leaves out
 * the time in which the thread was ready but another program had the core, which is not the server's fault. On SIGUSR2
 * it writes the longest delays since the last signal to the file, in milliseconds, and starts again.
 */
function watchLoop(file: string): void {
  let blocked: number[] = [];
  let longestMs = 0;
  let lastMs = performance.now();
  let lastWaitMs = waitedMs();
  setInterval(() => {
    const nowMs = performance.now();
    const waitMs = waitedMs();
    const lateMs = nowMs - lastMs - EVERY_MS;
    longestMs = Math.max(longestMs, lateMs);
    blocked.push(lateMs - (waitMs - lastWaitMs));
    if (blocked.length > 1_000) blocked = longestOf(blocked);
    lastMs = nowMs;
    lastWaitMs = waitMs;
  }, EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    writeFileSync(file, JSON.stringify({ longestMs, blockedMs: longestOf(blocked) }));
    blocked = [];
    longestMs = 0;
  });
}

function longestOf(blocked: readonly number[]): number[] {
  return blocked.toSorted((a, b) => b - a).slice(0, LONGEST);
}

/** How long the main thread has so far been ready without having a core; Linux only. */
function waitedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 2)[1]) / 1e6;
  } catch {
    return 0;
  }
}

const out = new URL(import.meta.url).searchParams.get('out');
if (isMainThread && out !== null) watchLoop(out);
