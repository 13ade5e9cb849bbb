import { RETURN_SPREAD_MAX_MS } from '@tidegate/protocol/agent-api';

/** Waits, or ends early when the signal is given. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;
/** Waits before a retry. False when there is none: the process is stopping, the wait is too long, or what it is for is over. */
export type Pause = (ms: number, isOver?: AbortSignal) => Promise<boolean>;

/** First wait before a retry of work that is under way. */
const BACK_OFF_BASE_MS = 5_000;
/** Maximum of it; jitter is applied after this cap, so that waiting hosts do not return at once. */
export const BACK_OFF_CAP_MS = 15 * 60_000;
const LEAST_WAIT_MS = 1_000;
/** Jitter around the server's interval, as a fraction. */
const POLL_JITTER = 0.1;

/**
 * Wait of work under way (a document for an installation, an output) after its n-th failure in a row: full jitter below the
 * doubled, capped step, at least Retry-After.
 */
export function backOffMs(failures: number, random: number, retryAfterMs: number | null): number {
  const step = Math.min(BACK_OFF_CAP_MS, BACK_OFF_BASE_MS * 2 ** Math.min(failures - 1, 30));
  const asked = retryAfterMs === null ? 0 : retryAfterMs * (1 + random * 0.1);
  return Math.max(LEAST_WAIT_MS, asked, random * step);
}

export interface FailedPoll {
  /** Failed check-ins in a row, from one. */
  failures: number;
  intervalMs: number;
  random: number;
  retryAfterMs: number | null;
}

/**
 * Wait until the next check-in after a failed one. Never shorter than the interval, so that a failing server gets less
 * from a fleet than a healthy one; the spread on top grows from half an interval. A host still counts as online after
 * one failure. Retry-After is a minimum, and is spread too, as a proxy asks the same of all.
 */
export function reconnectMs({ failures, intervalMs, random, retryAfterMs }: FailedPoll): number {
  const grown = Math.min(RETURN_SPREAD_MAX_MS, intervalMs * 2 ** Math.min(failures - 2, 30));
  const asked = retryAfterMs === null ? 0 : retryAfterMs + spreadMs(intervalMs, random);
  return Math.max(asked, intervalMs + random * grown);
}

/** Wait before the first check-in after a start or a long sleep, which a whole fleet may have at the same time. */
export function spreadMs(intervalMs: number, random: number): number {
  return random * Math.min(RETURN_SPREAD_MAX_MS, intervalMs);
}

/** Wait until the next check-in when all is well. */
export function pollMs(intervalMs: number, random: number): number {
  return intervalMs * (1 - POLL_JITTER + random * 2 * POLL_JITTER);
}
