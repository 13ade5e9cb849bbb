/** How far clocks may differ before a document is refused (docs/protocol/verification.md, T16). */
export const CLOCK_SKEW_MS = 5 * 60_000;

/** T16: commands expire even on a host whose clock is behind or was set back. */
export function trustedNow(localMs: number, lastServerTime: string | null): number {
  return lastServerTime === null ? localMs : Math.max(localMs, Date.parse(lastServerTime));
}

/** Whether a time is past, allowing for the skew of both clocks. */
export function hasPassed(time: string, nowMs: number): boolean {
  return Date.parse(time) <= nowMs - CLOCK_SKEW_MS;
}

/** RFC 3339 in UTC, whole seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
