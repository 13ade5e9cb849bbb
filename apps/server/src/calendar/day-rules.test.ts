import { expect, test } from 'vitest';
import { daysOf } from './day-rules.ts';

const HOUR_MS = 3_600_000;

test.each([
  ['a day in which the clocks go forward', 'Europe/Berlin', '2026-03-28', [24, 23, 24]],
  ['a day in which they go back', 'Europe/Berlin', '2026-10-24', [24, 25, 24]],
  ['a change of half an hour', 'Australia/Lord_Howe', '2026-10-03', [24, 23.5, 24]],
  ['a day that begins at one, as midnight is skipped', 'America/Asuncion', '2024-10-05', [24, 23, 24]],
  ['UTC', 'UTC', '2026-03-28', [24, 24, 24]],
])('%s has its hours: %s', (_, zone, from, hours) => {
  const days = daysOf({ from, count: 3, zone });
  expect(days.map(({ startMs, endMs }) => (endMs - startMs) / HOUR_MS)).toEqual(hours);
  // No moment is in two days or in none.
  for (const [i, { startMs }] of days.entries()) if (i > 0) expect(days[i - 1]?.endMs).toBe(startMs);
});

test('a date that its zone skipped is no day', () => {
  expect(daysOf({ from: '2011-12-29', count: 3, zone: 'Pacific/Apia' }).map(({ date }) => date)).toEqual([
    '2011-12-29',
    '2011-12-31',
  ]);
});

test('days begin at midnight of their zone', () => {
  const [day] = daysOf({ from: '2026-11-25', count: 1, zone: 'America/New_York' });
  expect(new Date(day?.startMs ?? 0).toISOString()).toBe('2026-11-25T05:00:00.000Z');
});

test.each([
  ['Europe/Atlantis', '2026-11-25'],
  ['UTC', '2026-02-30'],
])('%s on %s is refused', (zone, from) => {
  expect(() => daysOf({ from, count: 1, zone })).toThrow(RangeError);
});
