/** Runs of one key before its oldest two are merged; only larger budgets ever reach it. */
export const RUNS_MAX_PER_KEY = 4_096;

/**
 * The accepted requests of one key: pairs of a time and a count, oldest first from `head` on.
 * `live` is the sum of the counts from `head` on.
 */
export interface Window {
  runs: number[];
  head: number;
  live: number;
}

export function emptyWindow(): Window {
  return { runs: [], head: 0, live: 0 };
}

/** Drops requests accepted at `startMs` or before. A request leaves the window exactly one window later. */
export function expire(window: Window, startMs: number): void {
  const { runs } = window;
  let { head } = window;
  while (head < runs.length && at(runs, head) <= startMs) {
    window.live -= at(runs, head + 1);
    head += 2;
  }
  if (head === runs.length) {
    if (head > 0) window.runs = [];
    head = 0;
  } else if (head >= 64 && head * 2 >= runs.length) {
    window.runs = runs.slice(head);
    head = 0;
  }
  window.head = head;
}

/**
 * Counts one accepted request. Past the maximum, the two oldest runs are merged at the later of their times.
 * They then stay in the window too long, so merging can refuse a request but never grant one.
 */
export function record(window: Window, nowMs: number, runsMax: number = RUNS_MAX_PER_KEY): void {
  const { runs } = window;
  window.live++;
  if (runs.length === 0) {
    // A new array of this size: a push into an empty one reserves room for sixteen.
    window.runs = [nowMs, 1];
    return;
  }
  const last = runs.length - 2;
  if (last >= window.head && at(runs, last) === nowMs) {
    runs[last + 1] = at(runs, last + 1) + 1;
    return;
  }
  runs.push(nowMs, 1);
  const oldest = window.head;
  if ((runs.length - oldest) / 2 <= runsMax) return;
  runs[oldest + 3] = at(runs, oldest + 1) + at(runs, oldest + 3);
  window.head = oldest + 2;
}

/** The time at which fewer than `limit` of the recorded requests are newer than one window. */
export function freeAtMs(window: Window, { limit, windowMs }: { limit: number; windowMs: number }): number {
  let live = window.live;
  for (let i = window.head; i < window.runs.length; i += 2) {
    live -= at(window.runs, i + 1);
    if (live < limit) return at(window.runs, i) + windowMs;
  }
  return 0;
}

export function oldestMs(window: Window): number {
  return at(window.runs, window.head);
}

/** Whether nothing in the window is newer than `startMs`: dropping it then changes no later answer. */
export function isIdle(window: Window, startMs: number): boolean {
  const { runs } = window;
  return runs.length === 0 || at(runs, runs.length - 2) <= startMs;
}

export function copyOf(window: Window): Window {
  return { runs: window.runs.slice(window.head), head: 0, live: window.live };
}

function at(runs: readonly number[], index: number): number {
  return runs[index] ?? 0;
}
