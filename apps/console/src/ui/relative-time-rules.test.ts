import { expect, test } from 'vitest';
import { duration, lastingTime, relativeTime } from './relative-time-rules.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const HOUR_MS = 3_600_000;

test.each([
  [0, 'just now'],
  [-59_999, 'just now'],
  [3_000, 'just now'],
  [15_000, 'just now'],
  [30_000, 'just now'],
  [31_000, 'in less than a minute'],
  [-60_000, '1 min ago'],
  [-HOUR_MS, '1 h ago'],
  [-23 * HOUR_MS, '23 h ago'],
  [-24 * HOUR_MS, '1 d ago'],
  [-40 * 24 * HOUR_MS, '1 mo ago'],
  [-800 * 24 * HOUR_MS, '2 y ago'],
  [2 * HOUR_MS, 'in 2 h'],
  [Number.NaN, 'unknown'],
])('a time %d ms from now reads %j', (offset, text) => {
  expect(relativeTime(NOW + offset, NOW)).toBe(text);
});

test.each([
  [15_000, 'for less than a minute'],
  [-59_999, 'for less than a minute'],
  [-60_000, 'for 1 min'],
  [-50 * HOUR_MS, 'for 2 d'],
  [Number.NaN, 'since an unknown time'],
])('a state that began %d ms from now has lasted %j', (offset, text) => {
  expect(lastingTime(NOW + offset, NOW)).toBe(text);
});

test('a duration is shown in its largest unit', () => {
  expect([duration(0), duration(61_000), duration(90 * 60_000)]).toEqual(['0 min', '1 min', '1 h']);
});
