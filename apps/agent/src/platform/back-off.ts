/** Waits, or ends early when the signal is given. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;
/** Waits before a retry. False when there is none: the process is stopping or the wait is too long. */
export type Pause = (ms: number) => Promise<boolean>;

/** First wait after a failure. */
export const BACK_OFF_BASE_MS = 5_000;
/** Maximum wait; jitter is applied after this cap, so that a waiting fleet does not return at once. */
export const BACK_OFF_CAP_MS = 15 * 60_000;
const LEAST_WAIT_MS = 1_000;
/** Jitter around the server's interval, as a fraction. */
const POLL_JITTER = 0.1;

/** Wait after the n-th failure in a row: full jitter below the doubled, capped step, at least Retry-After. */
export function backOffMs(failures: number, random: number, retryAfterMs: number | null): number {
  const step = Math.min(BACK_OFF_CAP_MS, BACK_OFF_BASE_MS * 2 ** Math.min(failures - 1, 30));
  const asked = retryAfterMs === null ? 0 : retryAfterMs * (1 + random * 0.1);
  return Math.max(LEAST_WAIT_MS, asked, random * step);
}

/** Wait until the next check-in when all is well. */
export function pollMs(intervalMs: number, random: number): number {
  return intervalMs * (1 - POLL_JITTER + random * 2 * POLL_JITTER);
}
