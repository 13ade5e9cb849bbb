/** Milliseconds since the epoch. Only main.ts creates the real one; tests pass their own. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** RFC 3339 in UTC with milliseconds. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}

/** The day in UTC, such as 2026-11-21. */
export function rfc3339Day(ms: number): string {
  return rfc3339(ms).slice(0, 10);
}

/** RFC 3339 in UTC, whole seconds, as in signed documents. */
export function rfc3339Seconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
