import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work continues for this long before the event loop turns; a single statement is never interrupted. */
export const SLICE_MS = 5;
/** The loop turns for at most this long while each turn finds something ready. */
const PAUSE_MS = 10;

export interface Slices {
  /**
   * Call it before each statement or piece of work: resolves when this work may continue, immediately in a
   * young turn. Null means immediately, without the cost of a promise.
   */
  turn(): Promise<void> | null;
}

export interface Loop {
  nowMs: () => number;
  /** Resolves in the next turn of the event loop. */
  nextTurn: () => Promise<void>;
  /** The number of events found ready so far: connections, requests, completions in the thread pool. */
  events: () => number;
}

const REAL: Loop = {
  nowMs: () => performance.now(),
  nextTurn: () => nextTurn(),
  events: () => performance.nodeTiming.uvMetricsInfo.events,
};

/**
 * SQLite runs on the calling thread: without this, a request of many statements would block all others to its
 * end. Work that has used up its turn waits in a queue, first come, first served. It continues when the loop
 * has turned until nothing is ready: libuv accepts one new connection per turn, so 25 hosts need 25 turns.
 */
export function createSlices({ nowMs, nextTurn, events }: Loop = REAL): Slices {
  const waiting: (() => void)[] = [];
  /** When the first work of this turn began; null before. */
  let beganMs: number | null = null;
  let isLettingIn = false;

  function begin(): void {
    beganMs = nowMs();
    void nextTurn().then(() => {
      beganMs = null;
    });
  }
  const isYoung = () => beganMs === null || nowMs() - beganMs < SLICE_MS;

  async function pause(): Promise<void> {
    const startMs = nowMs();
    // The first turn may be the rest of this one, which polls for nothing new.
    await nextTurn();
    for (let seen = -1; seen !== events() && nowMs() - startMs < PAUSE_MS; ) {
      seen = events();
      await nextTurn();
    }
    // Others have used up this turn.
    if (!isYoung()) await nextTurn();
  }

  async function letIn(): Promise<void> {
    isLettingIn = true;
    while (waiting.length > 0) {
      await pause();
      do {
        if (beganMs === null) begin();
        waiting.shift()?.();
        // The waiter continues before this does.
        await Promise.resolve();
      } while (waiting.length > 0 && isYoung());
    }
    isLettingIn = false;
  }

  return {
    turn() {
      if (beganMs === null) {
        begin();
        return null;
      }
      if (isYoung()) return null;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (!isLettingIn) void letIn();
      return promise;
    },
  };
}

/** For the whole process: its databases and all other long work share one event loop, and so the slices. */
export const slices = createSlices();
