import { describe, expect, test } from 'vitest';
import { nextDigest, quietUntil } from './time-rules.ts';

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const zone = 'Europe/Berlin';
const iso = (ms: number | null) => ms && new Date(ms).toISOString();

describe('quiet hours', () => {
  test.each([
    // Overnight, in winter: UTC+1.
    ['22:00', '07:00', EVERY_DAY, '2026-11-21T20:59:59Z', null],
    ['22:00', '07:00', EVERY_DAY, '2026-11-21T21:00:00Z', '2026-11-22T06:00:00.000Z'],
    ['22:00', '07:00', EVERY_DAY, '2026-11-22T05:59:59Z', '2026-11-22T06:00:00.000Z'],
    ['22:00', '07:00', EVERY_DAY, '2026-11-22T06:00:00Z', null],
    // They begin on Fridays alone, and reach into Saturday.
    ['22:00', '07:00', [5], '2026-11-21T02:00:00Z', '2026-11-21T06:00:00.000Z'],
    ['22:00', '07:00', [5], '2026-11-21T22:00:00Z', null],
    // Within one day.
    ['12:00', '13:00', EVERY_DAY, '2026-11-21T11:30:00Z', '2026-11-21T12:00:00.000Z'],
    // The clocks go forward at 02:00: 02:30 is 03:30. They go back at 03:00: the first 02:30 counts.
    ['01:00', '02:30', EVERY_DAY, '2027-03-28T00:30:00Z', '2027-03-28T01:30:00.000Z'],
    ['01:00', '02:30', EVERY_DAY, '2026-10-25T00:15:00Z', '2026-10-25T00:30:00.000Z'],
    ['01:00', '02:30', EVERY_DAY, '2026-10-25T01:15:00Z', null],
  ])('from %s until %s on %s at %s: %s', (from, until, weekdays, now, expected) => {
    expect(iso(quietUntil({ from, until, zone, weekdays }, Date.parse(now)))).toBe(expected);
  });

  test('none are never', () => {
    expect(quietUntil(null, 0)).toBeNull();
  });
});

describe('the next digest', () => {
  test.each([
    ['07:00', EVERY_DAY, '2026-11-21T05:59:59Z', '2026-11-21T06:00:00.000Z'],
    ['07:00', EVERY_DAY, '2026-11-21T06:00:00Z', '2026-11-22T06:00:00.000Z'],
    ['07:00', [1], '2026-11-21T06:00:00Z', '2026-11-23T06:00:00.000Z'],
    // A week later, as today's is over.
    ['07:00', [6], '2026-11-21T06:00:00Z', '2026-11-28T06:00:00.000Z'],
    ['02:30', EVERY_DAY, '2027-03-27T12:00:00Z', '2027-03-28T01:30:00.000Z'],
    ['07:00', EVERY_DAY, '2027-03-27T12:00:00Z', '2027-03-28T05:00:00.000Z'],
  ])('at %s on %s after %s: %s', (at, weekdays, after, expected) => {
    expect(iso(nextDigest({ at, zone, weekdays }, Date.parse(after)))).toBe(expected);
  });
});
