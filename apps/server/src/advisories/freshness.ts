/**
 * Whether a decision may rest on a check. A check with an incomplete list of ids is queried again; one from the future
 * (a clock set back) counts as too old.
 */
export function isFresh(
  check: { readonly reason: string | null; readonly checkedAtMs: number } | undefined,
  { nowMs, maxAgeMs }: { nowMs: number; maxAgeMs: number },
): boolean {
  if (!check || check.reason === 'unreachable') return false;
  const ageMs = nowMs - check.checkedAtMs;
  return ageMs >= -60_000 && ageMs < maxAgeMs;
}
