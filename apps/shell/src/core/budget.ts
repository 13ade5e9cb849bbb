/** A bucket of tokens: `perSecond` flow in up to `burst`; each taken one is for one message. */
export interface Budget {
  /** False where there is none left. */
  take(): boolean;
}

/** `now` is a clock in milliseconds that never goes back. */
export function createBudget(
  { perSecond, burst }: { perSecond: number; burst: number },
  now: () => number,
): Budget {
  let left = burst;
  let at = now();
  return {
    take() {
      const nowMs = now();
      left = Math.min(burst, left + ((nowMs - at) / 1_000) * perSecond);
      at = nowMs;
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}
