import { expect, test } from 'vitest';
import { createDue } from './due.ts';

test('is due at first, after its time, and after a clock was set back', () => {
  const isDue = createDue(1_000);
  expect([5_000, 5_999, 6_000, 6_001, 1_000, 1_001, 2_000].map(isDue)).toEqual([
    ...[true, false, true, false],
    ...[true, false, true],
  ]);
});
