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
