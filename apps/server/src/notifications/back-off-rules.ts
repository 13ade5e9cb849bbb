const FIRST_MS = 30_000;
const LONGEST_MS = 6 * 3_600_000;
/** The longest that a receiver may ask for. */
const LONGEST_ASKED_MS = 24 * 3_600_000;
/** Failures in a row after which a channel as a whole is tried less often. */
export const FAILURES_TO_PAUSE = 3;
/** The longest that a delivery, or a channel, waits. */
export const LONGEST_WAIT_MS = 1.5 * Math.max(LONGEST_MS, LONGEST_ASKED_MS);
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/**
 * How long a delivery waits after this many attempts: twice as long each time up to the cap, then spread by up to half
 * of it, so that what failed together is not tried together. A receiver may ask for longer.
 */
export function nextDelayMs(of: { attempts: number; retryAfterMs: number | null; share: number }): number {
  const plainMs = Math.min(FIRST_MS * 2 ** Math.max(0, of.attempts - 1), LONGEST_MS);
  const askedMs = Math.min(of.retryAfterMs ?? 0, LONGEST_ASKED_MS);
  return Math.round(Math.max(plainMs, askedMs) * (1 + of.share / 2));
}

/** How long a channel is left alone after this many failures in a row, and what its receiver asks for; 0: not at all. */
export function pauseMs(of: { failures: number; retryAfterMs: number | null; share: number }): number {
  const askedMs = Math.min(of.retryAfterMs ?? 0, LONGEST_ASKED_MS);
  const over = of.failures - FAILURES_TO_PAUSE;
  const plainMs = over < 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** over, LONGEST_PAUSE_MS);
  return Math.round(Math.max(plainMs, askedMs) * (1 + of.share / 2));
}
