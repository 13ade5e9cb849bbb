import { expect, test } from 'vitest';
import { dayFrom, endOfDay } from './day-rules.ts';

test('what a day ends, ends with it in UTC', () => {
  const day = dayFrom(Date.parse('2026-12-30T22:00:00Z'), 7);
  expect(endOfDay(day)).toBe('2027-01-06T23:59:59Z');
});
