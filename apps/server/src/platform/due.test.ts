import { expect, test } from 'vitest';
import { CLOCKS_DIFFER_MS, createDue, isWaiting } from './due.ts';

test('is due at first, after its time, and after a clock was set back', () => {
  const isDue = createDue(1_000);
  expect([5_000, 5_999, 6_000, 6_001, 1_000, 1_001, 2_000].map(isDue)).toEqual([
    ...[true, false, true, false],
    ...[true, false, true],
  ]);
});

test('waits no longer than the longest wait, and the difference of clocks', () => {
  const at = (untilMs: number) => isWaiting(untilMs, { nowMs: 1_000, longestMs: 500 });
  const longest = 1_500 + CLOCKS_DIFFER_MS;
  expect([999, 1_000, 1_001, 1_500, longest, longest + 1].map(at)).toEqual([
    ...[false, false, true],
    ...[true, true, false],
  ]);
});
