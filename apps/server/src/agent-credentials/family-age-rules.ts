import { REFRESH_TOKEN_LIFETIME_MS } from './refresh-tokens.ts';

/** Longest life of a family, regardless of renewals, in milliseconds; null for no limit. */
export type FamilyMaxAgeMs = number | null;

/** Whether a family has reached its maximum age. It is then expired, which never counts as reuse. */
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
