import { HISTORY_DAYS_MAX } from '@tidegate/protocol/overview-api';
import { rfc3339Day } from '../platform/clock.ts';

const DAY_MS = 86_400_000;

/** The first of `days` days that end today. */
export function firstDayOf(nowMs: number, days: number): string {
  return rfc3339Day(nowMs - (days - 1) * DAY_MS);
}

/** The oldest day that is kept. */
export function oldestDay(nowMs: number): string {
  return firstDayOf(nowMs, HISTORY_DAYS_MAX);
}

/** The age that the given share of the updates does not exceed; null if there are none. */
export function ageAt(
  part: number,
  ages: readonly { readonly ageMs: number; readonly updates: number }[],
): number | null {
  const rising = ages.toSorted((a, b) => a.ageMs - b.ageMs);
  const total = rising.reduce((sum, { updates }) => sum + updates, 0);
  let counted = 0;
  for (const { ageMs, updates } of rising) {
    counted += updates;
    if (counted >= part * total) return ageMs;
  }
  return null;
}
