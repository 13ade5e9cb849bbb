/**
 * Says of something that is done every so often whether it is due, and counts it as done then. After a clock was set back it
 * is due at once.
 */
export function createDue(everyMs: number): (nowMs: number) => boolean {
  let lastMs: number | null = null;
  return (nowMs) => {
    if (lastMs !== null && nowMs >= lastMs && nowMs - lastMs < everyMs) return false;
    lastMs = nowMs;
    return true;
  };
}

/** How far the clocks of servers on one database may differ, in milliseconds. */
export const CLOCKS_DIFFER_MS = 60_000;

/** The longest wait that the code sets; a stored time that is further away was written by a clock that was set back since. */
export interface Wait {
  readonly nowMs: number;
  readonly longestMs: number;
}

/** No wait of now ends later. */
export function latestEndOf({ nowMs, longestMs }: Wait): number {
  return nowMs + longestMs + CLOCKS_DIFFER_MS;
}

/** Whether a wait until a stored time goes on. */
export function isWaiting(untilMs: number, wait: Wait): boolean {
  return untilMs > wait.nowMs && untilMs <= latestEndOf(wait);
}
