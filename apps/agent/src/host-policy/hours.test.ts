import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Hours, isTimeZone, isWithinHours, nextWindowMs, WEEKDAYS } from './hours.ts';

const at = (text: string) => Date.parse(text);
const nights: Hours = { days: ['fri'], from: '22:00', to: '04:00' };
const berlin: Hours = { days: ['sun'], from: '01:30', to: '05:00', time_zone: 'Europe/Berlin' };
const day = (time_zone?: string): Hours => ({
  days: ['sat'],
  from: '09:00',
  to: '17:00',
  ...(time_zone && { time_zone }),
});

// 2026-11-21 is a Saturday.
describe('hours', () => {
  test.each<[string, Hours, string, boolean]>([
    ['in the window', day(), '2026-11-21T12:00:00Z', true],
    ['the first minute', day(), '2026-11-21T09:00:00Z', true],
    ['a second before', day(), '2026-11-21T08:59:59Z', false],
    ['the last second', day(), '2026-11-21T16:59:59Z', true],
    ['the minute of the end', day(), '2026-11-21T17:00:00Z', false],
    ['another day', day(), '2026-11-22T12:00:00Z', false],
    ['the zone counts, not the clock of the host', day('Asia/Tokyo'), '2026-11-21T00:30:00Z', true],
    ['and the weekday is that of the zone', day('Asia/Tokyo'), '2026-11-21T12:00:00Z', false],
    ['before midnight', nights, '2026-11-20T23:00:00Z', true],
    ['past midnight still belongs to Friday', nights, '2026-11-21T03:59:00Z', true],
    ['but Saturday night does not', nights, '2026-11-21T23:00:00Z', false],
    ['nor the small hours of Friday', nights, '2026-11-20T03:00:00Z', false],
    ['Sunday to Monday', { days: ['sun'], from: '23:00', to: '01:00' }, '2026-11-23T00:30:00Z', true],
    ['a whole day', { days: ['sat'], from: '00:00', to: '24:00' }, '2026-11-21T23:59:00Z', true],
    ['and no more', { days: ['sat'], from: '00:00', to: '24:00' }, '2026-11-22T00:00:00Z', false],
  ])('%s', (_, window, now, expected) => {
    expect(isWithinHours([window], at(now))).toBe(expected);
  });

  test('one window of several is enough', () => {
    expect(isWithinHours([nights, day()], at('2026-11-21T12:00:00Z'))).toBe(true);
  });
});

describe('the next window', () => {
  test.each<[Hours[], string, string]>([
    [[day()], '2026-11-21T08:00:30Z', '2026-11-21T09:00:00Z'],
    [[day()], '2026-11-21T17:00:00Z', '2026-11-28T09:00:00Z'],
    [[day(), nights], '2026-11-21T17:00:00Z', '2026-11-27T22:00:00Z'],
    [[day('Asia/Tokyo')], '2026-11-21T12:00:00Z', '2026-11-28T00:00:00Z'],
    // Berlin leaves summer time on 25 October 2026 at 03:00; the window of the week after opens an hour later in UTC.
    [[berlin], '2026-10-18T12:00:00Z', '2026-10-24T23:30:00Z'],
    [[berlin], '2026-10-25T12:00:00Z', '2026-11-01T00:30:00Z'],
  ])('%#', (windows, now, expected) => {
    expect(new Date(nextWindowMs(windows, at(now))).toISOString()).toBe(expected.replace('Z', '.000Z'));
  });

  test('is a moment inside, and the minute before is not, whatever the windows are', () => {
    const clock = fc
      .integer({ min: 0, max: 1_439 })
      .map((m) => `${String(Math.floor(m / 60)).padStart(2, '0')}:${String(m % 60).padStart(2, '0')}`);
    const window = fc
      .record({
        days: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { minLength: 1 }),
        from: clock,
        to: clock,
      })
      .filter(({ from, to }) => from !== to);
    const now = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') });
    fc.assert(
      fc.property(window, now, (hours, nowMs) => {
        fc.pre(!isWithinHours([hours], nowMs));
        const openMs = nextWindowMs([hours], nowMs);
        expect(openMs).toBeGreaterThan(nowMs);
        expect([isWithinHours([hours], openMs), isWithinHours([hours], openMs - 1)]).toEqual([true, false]);
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Europe/Belrin', false],
  ['', false],
  ['../../etc/passwd', false],
])('the time zone %j is known: %s', (name, known) => {
  expect(isTimeZone(name)).toBe(known);
});
