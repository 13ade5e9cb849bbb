import { mock } from 'node:test';
import { setTimeout as realPause } from 'node:timers/promises';

/** Real milliseconds between two steps of the timers while a request or a background run waits for one. */
const PULSE_MS = 5;
/** Virtual milliseconds of such a step. */
const PULSE_STEP_MS = 100;

/** A clock that the demo moves. Timers of this process, the server's among them, follow it. */
export interface DemoClock extends Disposable {
  now(): number;
  /** Moves the time without running a timer, so that hosts can check in before anybody calls them late. */
  leap(ms: number): void;
  /** Runs what is due after so many milliseconds, and lets it finish. */
  pass(ms: number): Promise<void>;
}

/** Starts at a time and holds all timers of this process until it is disposed. */
export function startDemoClock(startMs: number): DemoClock {
  let nowMs = startMs;
  const pause = realPause;
  const interval = setInterval;
  const clear = clearInterval;
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const pulse = interval(() => {
    nowMs += PULSE_STEP_MS;
    mock.timers.tick(PULSE_STEP_MS);
  }, PULSE_MS);
  return {
    now: () => nowMs,
    leap(ms) {
      nowMs += ms;
    },
    async pass(ms) {
      nowMs += ms;
      mock.timers.tick(ms);
      await pause(0);
    },
    [Symbol.dispose]() {
      clear(pulse);
      mock.timers.reset();
    },
  };
}
