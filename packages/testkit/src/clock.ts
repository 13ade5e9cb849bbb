/** A clock that moves only when advanced. */
export type Clock = {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Moves the clock; a negative step sets it back, as a corrected host clock does. */
  advance(stepMs: number): void;
};

/** Makes a clock that stands at `startMs` (milliseconds since the Unix epoch). Throws on a time that is no number. */
export function createClock(startMs: number): Clock {
  let nowMs = finite(startMs);
  return {
    now: () => nowMs,
    advance: (stepMs) => {
      nowMs = finite(nowMs + stepMs);
    },
  };
}

function finite(timeMs: number): number {
  // A NaN clock compares false with every deadline and would let a test of expiry pass by accident.
  if (!Number.isFinite(timeMs)) throw new RangeError(`not a time: ${timeMs}`);
  return timeMs;
}
