import { REFRESH_TOKEN_LIFETIME_MS } from './refresh-tokens.ts';

/** How old a family may become however often it is renewed, in milliseconds; null where age alone ends none. */
export type FamilyMaxAgeMs = number | null;

/** Whether a family has lived for as long as any may. Such a one is expired, not reused: it is never revoked for it. */
export function isPastMaxAge(
  { createdAtMs, nowMs }: { createdAtMs: number; nowMs: number },
  maxAgeMs: FamilyMaxAgeMs,
): boolean {
  return maxAgeMs !== null && nowMs >= createdAtMs + maxAgeMs;
}

/** When a token ends: ninety days after its own issue (R2), and not later than its family. */
export function endOfToken(
  { createdAtMs, issuedAtMs }: { createdAtMs: number; issuedAtMs: number },
  maxAgeMs: FamilyMaxAgeMs,
): number {
  const own = issuedAtMs + REFRESH_TOKEN_LIFETIME_MS;
  return maxAgeMs === null ? own : Math.min(own, createdAtMs + maxAgeMs);
}
