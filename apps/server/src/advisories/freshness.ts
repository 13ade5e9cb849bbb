import type { Check } from './store.ts';

/**
 * Whether a decision may rest on a check. One whose list of ids is not complete is asked for again; one that seems to
 * come from the future (a clock set back) is too old.
 */
export function isFresh(
  check: Check | undefined,
  { nowMs, maxAgeMs }: { nowMs: number; maxAgeMs: number },
): boolean {
  if (!check || check.reason === 'unreachable') return false;
  const ageMs = nowMs - check.checkedAtMs;
  return ageMs >= -60_000 && ageMs < maxAgeMs;
}
