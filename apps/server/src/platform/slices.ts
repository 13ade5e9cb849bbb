import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work goes on for so long before the event loop turns; a single statement is never cut. */
export const SLICE_MS = 5;
/** The loop turns for so long at most while there is something ready in each turn. */
const PAUSE_MS = 10;

export interface Slices {
  /**
   * Asked before each statement or piece of work: resolves at once while the turn is young, else when the others have
   * had theirs. Null means at once, without the wait for a promise.
   */
  turn(): Promise<void> | null;
}

export interface Loop {
  nowMs: () => number;
  /** Resolves in the next turn of the event loop. */
  nextTurn: () => Promise<void>;
  /** What the loop has found ready so far: connections, requests, ends of work in the thread pool. */
  events: () => number;
}

const REAL: Loop = {
  nowMs: () => performance.now(),
  nextTurn: () => nextTurn(),
  events: () => performance.nodeTiming.uvMetricsInfo.events,
};

/**
 * SQLite answers on the thread that asks: without this, a request of many statements would keep everyone else waiting
 * to its end. Those who have used up their turn wait in a queue, first come, first served, and go on when the loop has
 * turned until nothing is ready: libuv takes one new connection in a turn, so that 25 hosts need 25 of them.
 */
export function createSlices({ nowMs, nextTurn, events }: Loop = REAL): Slices {
  const waiting: (() => void)[] = [];
  /** When the first work of this turn began; null while there was none. */
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
    // The first turn may be the rest of this one, in which nothing new is looked for.
    await nextTurn();
    for (let seen = -1; seen !== events() && nowMs() - startMs < PAUSE_MS; ) {
      seen = events();
      await nextTurn();
    }
    // Others have used up this one.
    if (!isYoung()) await nextTurn();
  }

  async function letIn(): Promise<void> {
    isLettingIn = true;
    while (waiting.length > 0) {
      await pause();
      do {
        if (beganMs === null) begin();
        waiting.shift()?.();
        // It goes on before this does.
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

/** Of this process: its loop is one, so its databases and all other long work share the slices. */
export const slices = createSlices();
