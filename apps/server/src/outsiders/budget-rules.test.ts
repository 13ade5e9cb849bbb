import { expect, test } from 'vitest';
import { dayOf, judgeCharge, secondsToNextDay } from './budget-rules.ts';

const budget = { rows: 10, bytes: 100 };

test.each([
  [{ rows: 10, bytes: 100 }, { rows: 1, bytes: 1 }, 'within'],
  [{ rows: 11, bytes: 50 }, { rows: 1, bytes: 5 }, 'spent_now'],
  [{ rows: 12, bytes: 50 }, { rows: 1, bytes: 5 }, 'spent'],
  [{ rows: 1, bytes: 101 }, { rows: 1, bytes: 101 }, 'spent_now'],
  [{ rows: 2, bytes: 202 }, { rows: 1, bytes: 101 }, 'spent'],
  [{ rows: 11, bytes: 101 }, { rows: 1, bytes: 1 }, 'spent_now'],
])('%j with %j in it: %s', (used, added, charged) => {
  expect(judgeCharge({ used, added, budget })).toBe(charged);
});

test('budgets reset at midnight UTC', () => {
  const midnight = Date.UTC(2026, 10, 22);
  expect(dayOf(midnight) - dayOf(midnight - 1)).toBe(1);
  expect(secondsToNextDay(midnight - 1_500)).toBe(2);
  expect(secondsToNextDay(midnight - 1)).toBe(1);
  expect(secondsToNextDay(midnight)).toBe(86_400);
});
