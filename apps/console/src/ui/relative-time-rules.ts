const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CLOCK_NOISE_MS = 30 * SECOND_MS;

const UNITS = [
  [365 * DAY_MS, 'y'],
  [30 * DAY_MS, 'mo'],
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
] as const;

/** `3 h ago`, `in 2 d`, `just now`; `unknown` for an invalid time. */
export function relativeTime(atMs: number, nowMs: number): string {
  if (!Number.isFinite(atMs)) return 'unknown';
  const distance = Math.abs(nowMs - atMs);
  // The clock of the pages is up to 15 seconds late, and the server's may differ from others: what has just happened seems to be ahead.
  if (distance < MINUTE_MS) return atMs > nowMs + CLOCK_NOISE_MS ? 'in less than a minute' : 'just now';
  const text = duration(distance);
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

/** How long a state has lasted: `for 3 h`, `for less than a minute`; `since an unknown time` for an invalid one. */
export function lastingTime(fromMs: number, nowMs: number): string {
  if (!Number.isFinite(fromMs)) return 'since an unknown time';
  const ms = nowMs - fromMs;
  return ms < MINUTE_MS ? 'for less than a minute' : `for ${duration(ms)}`;
}

/** How long something took, if that is worth saying: a minute or more. Null also if one of the times is not known. */
export function longBetween(from: string | null, to: string | null): string | null {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return ms >= MINUTE_MS ? duration(ms) : null;
}

/** `3 h`, in the largest unit that fits once; `0 min` under a minute. */
export function duration(ms: number): string {
  for (const [size, unit] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return '0 min';
}
