import { setImmediate as nextTurn } from 'node:timers/promises';

/** Statements run for so long before the event loop turns once; a single statement is never cut. */
export const SLICE_MS = 10;

export interface Slices {
  /**
   * Asked before each statement: resolves at once while the turn is young, else in the next turn of the event loop.
   * Null means at once, without the wait for a promise.
   */
  turn(): Promise<void> | null;
}

export interface SliceClock {
  nowMs: () => number;
  /** Resolves in the next turn of the event loop. */
  nextTurn: () => Promise<void>;
}

const REAL: SliceClock = { nowMs: () => performance.now(), nextTurn: () => nextTurn() };

/**
 * SQLite answers on the thread that asks: without this, a request of many statements would keep everyone else waiting
 * to its end. What it interrupts is what PostgreSQL interrupts at every statement.
 */
export function createSlices({ nowMs, nextTurn }: SliceClock = REAL): Slices {
  /** When the first statement of this turn began; null once the turn is over. */
  let beganMs: number | null = null;
  let turning: Promise<void> | null = null;
  function toNextTurn(): Promise<void> {
    turning ??= nextTurn().then(() => {
      turning = null;
      beganMs = null;
    });
    return turning;
  }
  return {
    turn() {
      if (beganMs === null) {
        beganMs = nowMs();
        void toNextTurn();
        return null;
      }
      return nowMs() - beganMs < SLICE_MS ? null : toNextTurn();
    },
  };
}
