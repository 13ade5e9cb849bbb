/** Consecutive failures after which a source is not called for a while. */
const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Longest pause for a call that an operator waits for. */
const LONGEST_URGENT_PAUSE_MS = 2_000;

/** State of a source, from its last answers alone. */
export interface Breaker {
  readonly failures: number;
  readonly lastFailureAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
}

export const CLOSED_BREAKER: Breaker = { failures: 0, lastFailureAtMs: null, lastSuccessAtMs: null };

export function afterSuccess(nowMs: number): Breaker {
  return { failures: 0, lastFailureAtMs: null, lastSuccessAtMs: nowMs };
}

export function afterFailure(breaker: Breaker, nowMs: number): Breaker {
  return { ...breaker, failures: breaker.failures + 1, lastFailureAtMs: nowMs };
}

/** Whether the source failed last, which makes it "unreachable". */
export function isFailing(breaker: Breaker): boolean {
  return breaker.lastFailureAtMs !== null;
}

/** Whether a call may be made now. Pauses double with each failure past the first few; urgent calls wait less. */
export function mayCall(breaker: Breaker, at: { nowMs: number; urgent: boolean }): boolean {
  const { failures, lastFailureAtMs } = breaker;
  if (lastFailureAtMs === null || failures < FAILURES_TO_OPEN) return true;
  const longestMs = at.urgent ? LONGEST_URGENT_PAUSE_MS : LONGEST_PAUSE_MS;
  const pauseMs = Math.min(longestMs, FIRST_PAUSE_MS * 2 ** Math.min(failures - FAILURES_TO_OPEN, 16));
  // A clock that was set back must not keep the breaker open.
  return at.nowMs >= lastFailureAtMs + pauseMs || at.nowMs < lastFailureAtMs;
}
