import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Interval of the timer whose delay is measured, in milliseconds. */
const EVERY_MS = 2;
const LONGEST = 10;

/** The longest delays of a timer, in milliseconds. */
export interface LoopDelays {
  readonly longestMs: number;
  /** Without the time in which the thread was ready but another program had the core, which is not its fault. */
  readonly blockedMs: readonly number[];
  /** CPU of this thread between two timers: without what it waits for, such as the disk or the threads that collect garbage with it. */
  readonly ranMs: readonly number[];
}

/** Records from now on how late each timer of this thread fires; the answer tells it and starts again. */
export function watchLoop(): () => LoopDelays {
  let blocked: number[] = [];
  let longestMs = 0;
  let lastMs = performance.now();
  let lastWaitMs = waitedMs();
  let ran: number[] = [];
  let lastCpu = process.threadCpuUsage();
  setInterval(() => {
    const nowMs = performance.now();
    const waitMs = waitedMs();
    const lateMs = nowMs - lastMs - EVERY_MS;
    longestMs = Math.max(longestMs, lateMs);
    blocked.push(lateMs - (waitMs - lastWaitMs));
    if (blocked.length > 1_000) blocked = longestOf(blocked);
    const cpu = process.threadCpuUsage();
    ran.push((cpu.user - lastCpu.user + cpu.system - lastCpu.system) / 1_000);
    if (ran.length > 1_000) ran = longestOf(ran);
    lastCpu = cpu;
    lastMs = nowMs;
    lastWaitMs = waitMs;
  }, EVERY_MS).unref();
  return () => {
    const delays = { longestMs, blockedMs: longestOf(blocked), ranMs: longestOf(ran) };
    [blocked, ran, longestMs] = [[], [], 0];
    return delays;
  };
}

function longestOf(times: readonly number[]): number[] {
  return times.toSorted((a, b) => b - a).slice(0, LONGEST);
}

/** How long the main thread has so far been ready without having a core; Linux only. */
function waitedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 2)[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Preloaded into a server (`--import …/loop-delay.ts?out=FILE`): SIGUSR2 writes the delays since the last one to the file. */
const out = new URL(import.meta.url).searchParams.get('out');
if (isMainThread && out !== null) {
  const take = watchLoop();
  process.on('SIGUSR2', () => writeFileSync(out, JSON.stringify(take())));
}
