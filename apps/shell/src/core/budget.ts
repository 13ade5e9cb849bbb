/** A token bucket: `perSecond` tokens flow in, up to `burst`; each message takes one. */
export interface Budget {
  /** False if none is left. */
  take(): boolean;
}

/** `now` is a monotonic clock in milliseconds. */
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
