import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Schedule } from '@tidegate/protocol/windows-api';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { found, interval, windowCases } from '../testing/window-vectors.ts';
import { nextOccurrences, occurrences, openOccurrence, scheduleFault } from './schedule-rules.ts';

const DAY_MS = 86_400_000;
const NOON = Date.parse('2026-11-25T12:00:00Z');
const NIGHTLY: Schedule = {
  rrule: 'FREQ=DAILY',
  starts_on: '2026-01-01',
  start: '22:00',
  zone: 'Europe/Berlin',
  duration_minutes: 480,
};

function starts(schedule: Schedule, from: string, count: number): string[] {
  return nextOccurrences(schedule, { afterMs: Date.parse(from), count }).map(({ startMs }) =>
    new Date(startMs).toISOString().slice(0, 16),
  );
}

describe('occurrences that a second implementation finds as well (vectors/windows.json)', () => {
  const cases = windowCases();

  test('there are at least 200 of them, in ten zones or more', () => {
    expect(cases.length).toBeGreaterThan(200);
    expect(new Set(cases.map(({ schedule }) => schedule.zone)).size).toBeGreaterThan(10);
  });

  test.each(cases.map((one) => [one.title, one] as const))('%s', (_, one) => {
    expect(Value.Check(Schedule, one.schedule)).toBe(true);
    expect(found(one)).toEqual(one.occurrences);
    const startMs = one.occurrences.map((text) => Date.parse(text.slice(0, 20)));
    const after = startMs.filter((ms) => ms > Date.parse(one.from));
    const next = nextOccurrences(one.schedule, { afterMs: Date.parse(one.from), count: after.length });
    expect(next.map((occurrence) => occurrence.startMs)).toEqual(after);
    for (const ms of startMs) {
      const open = occurrences(one.schedule, { fromMs: ms, toMs: ms + 1, limit: 20 });
      expect(open.at(-1)?.startMs).toBe(ms);
      expect(openOccurrence([one.schedule], ms)?.startMs).toBe(ms);
    }
  });

  test.each([
    ['UTC', 0],
    ['America/New_York', 240],
    ['Asia/Kolkata', -330],
  ])('they do not depend on the zone of the server: TZ=%s', async (zone, offset) => {
    const script = fileURLToPath(new URL('../testing/print-occurrences.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', script], {
      env: { TZ: zone, PATH: process.env.PATH ?? '' },
      maxBuffer: 10_000_000,
    });
    expect(JSON.parse(stdout)).toEqual({ offset, found: cases.map((one) => one.occurrences) });
  });
});

describe('what is wrong with a schedule', () => {
  test.each<[string, Partial<Schedule>, string]>([
    ['a date that does not exist', { starts_on: '2026-02-29' }, 'The calendar has no 2026-02-29.'],
    ['an exception that does not exist', { except: ['2026-04-31'] }, 'The calendar has no 2026-04-31.'],
    ['an unknown zone', { zone: 'Europe/Atlantis' }, '"Europe/Atlantis" is not a time zone of the IANA'],
    [
      'a zone in other letters',
      { zone: 'europe/berlin' },
      'The time zone "europe/berlin" is written Europe/Berlin.',
    ],
    ['small letters', { rrule: 'freq=daily' }, 'A rule is written in capital letters'],
    ['the name of the property', { rrule: 'RRULE:FREQ=DAILY' }, 'without "RRULE:"'],
    ['two properties', { rrule: 'FREQ=DAILY\nEXDATE:20260101' }, 'A rule is written in capital letters'],
    [
      'no frequency',
      { rrule: 'INTERVAL=2' },
      'A rule needs FREQ with one of DAILY, WEEKLY, MONTHLY, YEARLY.',
    ],
    ['hours', { rrule: 'FREQ=HOURLY' }, 'A rule needs FREQ with one of DAILY'],
    ['a part with a time', { rrule: 'FREQ=DAILY;BYHOUR=3' }, '"BYHOUR=3" is not a part of a rule of dates.'],
    ['a part of other calendars', { rrule: 'FREQ=DAILY;RSCALE=HEBREW' }, '"RSCALE=HEBREW" is not a part'],
    ['week numbers', { rrule: 'FREQ=YEARLY;BYWEEKNO=20' }, '"BYWEEKNO=20" is not a part'],
    ['an empty part', { rrule: 'FREQ=DAILY;' }, '"" is not a part'],
    ['a part without value', { rrule: 'FREQ=DAILY;COUNT=' }, '"COUNT=" is not a part'],
    ['two signs', { rrule: 'FREQ=DAILY;COUNT==3' }, '"COUNT==3" is not a part'],
    ['a part twice', { rrule: 'FREQ=DAILY;COUNT=2;COUNT=3' }, 'COUNT is given twice.'],
    ['no interval', { rrule: 'FREQ=DAILY;INTERVAL=0' }, 'INTERVAL is a number from 1 to 366.'],
    ['two intervals', { rrule: 'FREQ=DAILY;INTERVAL=1,2' }, 'INTERVAL is a number from 1 to 366.'],
    ['a long interval', { rrule: 'FREQ=DAILY;INTERVAL=367' }, 'INTERVAL is a number from 1 to 366.'],
    ['a weekday of no week', { rrule: 'FREQ=WEEKLY;WKST=XX' }, 'WKST is one of MO, TU'],
    ['month 13', { rrule: 'FREQ=DAILY;BYMONTH=13' }, 'BYMONTH lists months from 1 to 12.'],
    ['month -1', { rrule: 'FREQ=DAILY;BYMONTH=-1' }, 'BYMONTH lists months from 1 to 12.'],
    ['day 32', { rrule: 'FREQ=MONTHLY;BYMONTHDAY=32' }, 'BYMONTHDAY lists days from 1 to 31'],
    ['day 0', { rrule: 'FREQ=MONTHLY;BYMONTHDAY=0' }, 'BYMONTHDAY lists days from 1 to 31'],
    ['a day of the month in weeks', { rrule: 'FREQ=WEEKLY;BYMONTHDAY=1' }, 'does not go with FREQ=WEEKLY'],
    ['an unknown weekday', { rrule: 'FREQ=WEEKLY;BYDAY=TUE' }, 'BYDAY lists weekdays'],
    ['a sixth weekday', { rrule: 'FREQ=MONTHLY;BYDAY=6MO' }, 'BYDAY lists weekdays'],
    [
      'weekdays with and without number',
      { rrule: 'FREQ=MONTHLY;BYDAY=MO,2TU' },
      'before each weekday or before none',
    ],
    [
      'a numbered weekday in weeks',
      { rrule: 'FREQ=WEEKLY;BYDAY=2TU' },
      'BYDAY has no numbers with FREQ=WEEKLY.',
    ],
    [
      'a numbered weekday in days',
      { rrule: 'FREQ=DAILY;BYDAY=2TU' },
      'BYDAY has no numbers with FREQ=DAILY.',
    ],
    [
      'numbered weekdays of dates',
      { rrule: 'FREQ=MONTHLY;BYDAY=2TU;BYMONTHDAY=9' },
      'no numbers beside BYMONTHDAY',
    ],
    ['position 0', { rrule: 'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0' }, 'BYSETPOS lists positions from 1 to 366'],
    [
      'a position in a day',
      { rrule: 'FREQ=DAILY;BYDAY=MO;BYSETPOS=1' },
      'BYSETPOS does not go with FREQ=DAILY.',
    ],
    ['a position in a week', { rrule: 'FREQ=WEEKLY;BYDAY=MO;BYSETPOS=1' }, 'does not go with FREQ=WEEKLY.'],
    [
      'a position of nothing',
      { rrule: 'FREQ=MONTHLY;BYSETPOS=1' },
      'BYSETPOS needs BYDAY, BYMONTHDAY or BYMONTH',
    ],
    ['two ends', { rrule: 'FREQ=DAILY;COUNT=2;UNTIL=20270101' }, 'A rule has COUNT or UNTIL, not both.'],
    [
      'an end with a time',
      { rrule: 'FREQ=DAILY;UNTIL=20270101T000000Z' },
      'UNTIL is a date from 1970 to 2199 without',
    ],
    [
      'an end that does not exist',
      { rrule: 'FREQ=DAILY;UNTIL=20270229' },
      'UNTIL is a date from 1970 to 2199',
    ],
    ['an end before the start', { rrule: 'FREQ=DAILY;UNTIL=20251231' }, 'UNTIL is before 2026-01-01'],
    ['no end', { rrule: 'FREQ=DAILY;COUNT=0' }, 'COUNT is a number from 1 to 366.'],
    ['a long count', { rrule: 'FREQ=DAILY;COUNT=367' }, 'Use UNTIL for a later end.'],
    [
      'a count that takes a century',
      { rrule: 'FREQ=YEARLY;COUNT=100' },
      'COUNT=100 is not reached within 40 years.',
    ],
    [
      '31 February, by days',
      { rrule: 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31' },
      'no date in the 40 years from 2026-01-01',
    ],
    ['31 February, by months', { rrule: 'FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31' }, 'has no date'],
    ['31 February, by years', { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=3' }, 'has no date'],
    [
      '30 February, each 366 years',
      { rrule: 'FREQ=YEARLY;INTERVAL=366;BYMONTH=2;BYMONTHDAY=30' },
      'has no date',
    ],
    ['a fourth position of three', { rrule: 'FREQ=MONTHLY;BYMONTHDAY=1,2,3;BYSETPOS=4' }, 'has no date'],
    ['no date before its end', { rrule: 'FREQ=MONTHLY;BYMONTHDAY=15;UNTIL=20260114' }, 'has no date'],
    ['once, but not then', { rrule: null, except: ['2026-01-01'] }, 'has no date in the 40 years'],
    [
      'twice, but neither',
      { rrule: 'FREQ=DAILY;COUNT=2', except: ['2026-01-01', '2026-01-02'] },
      'has no date',
    ],
  ])('%s', (_, change, fault) => {
    const schedule = { ...NIGHTLY, ...change };
    expect(Value.Check(Schedule, schedule)).toBe(true);
    expect(scheduleFault(schedule)).toContain(fault);
  });

  test.each<[string, Partial<Schedule>]>([
    ['each night', {}],
    ['once', { rrule: null }],
    ['UTC', { zone: 'UTC' }],
    ['another name of a zone', { zone: 'Asia/Calcutta' }],
    ['29 February', { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29' }],
    [
      '29 February on a Monday, after 2096',
      { rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO', starts_on: '2096-03-01' },
    ],
    ['signs', { rrule: 'FREQ=MONTHLY;BYDAY=+2TU,-1FR' }],
    ['one weekday twice', { rrule: 'FREQ=WEEKLY;BYDAY=MO,MO' }],
    ['the last date that can be named', { rrule: 'FREQ=DAILY;UNTIL=21991231', starts_on: '2199-12-31' }],
  ])('nothing: %s', (_, change) => {
    expect(scheduleFault({ ...NIGHTLY, ...change })).toBe(null);
  });

  test('a schedule with a fault has no occurrences: the question throws', () => {
    const hourly = { ...NIGHTLY, rrule: 'FREQ=HOURLY' };
    expect(() => nextOccurrences(hourly, { afterMs: NOON, count: 1 })).toThrow(RangeError);
    expect(() => openOccurrence([{ ...NIGHTLY, zone: 'Europe/Atlantis' }], NOON)).toThrow(RangeError);
    expect(() => openOccurrence([{ ...NIGHTLY, starts_on: '2026-02-30' }], NOON)).toThrow(RangeError);
  });
});

describe('questions about occurrences', () => {
  test('a range has those that overlap it, at most the limit, from the earliest', () => {
    const range = { fromMs: NOON, toMs: NOON + 3 * DAY_MS };
    const all = occurrences(NIGHTLY, { ...range, limit: 10 }).map(interval);
    expect(all).toEqual([
      '2026-11-25T21:00:00Z/2026-11-26T05:00:00Z',
      '2026-11-26T21:00:00Z/2026-11-27T05:00:00Z',
      '2026-11-27T21:00:00Z/2026-11-28T05:00:00Z',
    ]);
    expect(occurrences(NIGHTLY, { ...range, limit: 2 }).map(interval)).toEqual(all.slice(0, 2));
  });

  test('an end belongs to no occurrence, a start does', () => {
    const startMs = Date.parse('2026-11-25T21:00:00Z');
    const open = (nowMs: number) => openOccurrence([NIGHTLY], nowMs)?.startMs ?? null;
    expect(open(startMs - 1)).toBe(null);
    expect(open(startMs)).toBe(startMs);
    expect(open(startMs + 480 * 60_000 - 1)).toBe(startMs);
    expect(open(startMs + 480 * 60_000)).toBe(null);
  });

  test('the next ones start later than the moment that is named', () => {
    expect(starts(NIGHTLY, '2026-11-25T20:59:59.999Z', 1)).toEqual(['2026-11-25T21:00']);
    expect(starts(NIGHTLY, '2026-11-25T21:00:00Z', 2)).toEqual(['2026-11-26T21:00', '2026-11-27T21:00']);
  });

  test('the next ones are found years ahead, and none after the last', () => {
    const leap = { ...NIGHTLY, rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29' };
    expect(starts(leap, '2026-11-25T12:00:00Z', 2)).toEqual(['2028-02-29T21:00', '2032-02-29T21:00']);
    const twice = { ...NIGHTLY, rrule: 'FREQ=WEEKLY;COUNT=2', starts_on: '2026-11-20' };
    expect(starts(twice, '2026-11-25T12:00:00Z', 5)).toEqual(['2026-11-27T21:00']);
    expect(starts({ ...NIGHTLY, rrule: null }, '2026-11-25T12:00:00Z', 5)).toEqual([]);
  });

  test('a weekday that is named twice opens once', () => {
    const twice = { ...NIGHTLY, rrule: 'FREQ=WEEKLY;BYDAY=TU,TU' };
    expect(starts(twice, '2026-11-25T12:00:00Z', 2)).toEqual(['2026-12-01T21:00', '2026-12-08T21:00']);
  });

  test('of several open ones the one that ends last is named, with its schedule', () => {
    const long = { ...NIGHTLY, name: 'long', duration_minutes: 10_080 };
    const short = { ...NIGHTLY, name: 'short' };
    const nowMs = Date.parse('2026-11-25T22:00:00Z');
    const open = openOccurrence([short, long, short], nowMs);
    expect(open?.schedule.name).toBe('long');
    expect(open && interval(open)).toBe('2026-11-25T21:00:00Z/2026-12-02T21:00:00Z');
    expect(openOccurrence([], nowMs)).toBe(null);
  });
});

const list = <T>(values: readonly T[], min = 0) => fc.subarray([...values], { minLength: min });
const rules = fc
  .record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 366 }),
    months: list([1, 2, 3, 6, 7, 10, 11]),
    monthDays: list([1, 2, 15, 28, 29, 30, 31, -1, -3]),
    days: list(['MO', 'TU', 'FR', 'SU']),
    nth: fc.constantFrom('', '', '1', '2', '-1', '5'),
    position: fc.constantFrom('', '', '1', '-1', '2'),
    end: fc.constantFrom('', '', 'COUNT=40', 'UNTIL=20240229'),
  })
  .map(({ freq, interval: each, months, monthDays, days, nth, position, end }) => {
    const isLong = freq === 'MONTHLY' || freq === 'YEARLY';
    const dates = freq === 'WEEKLY' ? [] : monthDays;
    const number = isLong && dates.length === 0 ? nth : '';
    const chosen = [
      months.length > 0 && `BYMONTH=${months}`,
      dates.length > 0 && `BYMONTHDAY=${dates}`,
      days.length > 0 && `BYDAY=${days.map((day) => number + day)}`,
    ].filter((part) => part !== false);
    const last = [isLong && chosen.length > 0 && position && `BYSETPOS=${position}`, end].filter(Boolean);
    return [`FREQ=${freq}`, `INTERVAL=${each}`, ...chosen, ...last].join(';');
  });
const schedules: fc.Arbitrary<Schedule> = fc.record({
  rrule: fc.option(rules),
  starts_on: fc.constantFrom('1970-01-01', '2011-12-28', '2019-03-31', '2020-02-29', '2023-10-25'),
  start: fc.constantFrom('00:00', '00:30', '01:30', '02:30', '12:00', '23:59'),
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Cairo', 'Pacific/Apia', 'Australia/Lord_Howe'),
  duration_minutes: fc.constantFrom(1, 60, 1_380, 1_440, 4_320, 10_080),
});
const moments = fc.integer({ min: Date.parse('2011-12-01'), max: Date.parse('2025-01-01') });

describe('for any schedule', () => {
  test('occurrences are in order, last as long as they should, and overlap only if they last longer than a day', () => {
    fc.assert(
      fc.property(
        schedules,
        moments,
        fc.integer({ min: 1, max: 90 * DAY_MS }),
        (schedule, fromMs, spanMs) => {
          const lastsMs = schedule.duration_minutes * 60_000;
          const all = occurrences(schedule, { fromMs, toMs: fromMs + spanMs, limit: 1_000 });
          for (const [i, { startMs, endMs }] of all.entries()) {
            expect(endMs - startMs).toBe(lastsMs);
            expect(startMs < fromMs + spanMs && endMs > fromMs).toBe(true);
            const next = all[i + 1];
            if (next) expect(next.startMs).toBeGreaterThan(startMs);
            // The shortest day of these zones has 23 hours.
            if (next && schedule.duration_minutes <= 1_380)
              expect(next.startMs).toBeGreaterThanOrEqual(endMs);
          }
        },
      ),
    );
  });

  test('two halves of a time have the occurrences of the whole', () => {
    fc.assert(
      fc.property(
        schedules,
        moments,
        fc.integer({ min: 1, max: 90 * DAY_MS }),
        fc.integer({ min: 1, max: 90 * DAY_MS }),
        (schedule, fromMs, firstMs, secondMs) => {
          const between = (a: number, b: number) =>
            occurrences(schedule, { fromMs: a, toMs: b, limit: 1_000 }).map(interval);
          const [middle, toMs] = [fromMs + firstMs, fromMs + firstMs + secondMs];
          const halves = [...between(fromMs, middle), ...between(middle, toMs)];
          expect([...new Set(halves)]).toEqual(between(fromMs, toMs));
        },
      ),
    );
  });

  test('what is next opens, and is open from its start to its end', () => {
    fc.assert(
      fc.property(schedules, moments, (schedule, afterMs) => {
        for (const { startMs, endMs } of nextOccurrences(schedule, { afterMs, count: 3 })) {
          expect(openOccurrence([schedule], startMs)).toEqual({ startMs, endMs, schedule });
          expect(openOccurrence([schedule], endMs - 1)?.endMs).toBeGreaterThanOrEqual(endMs);
          expect(openOccurrence([schedule], endMs)?.startMs).not.toBe(startMs);
        }
      }),
    );
  });
});

test('a thousand schedules that began in 1970 are asked in less than a second: nobody walks from 1970', () => {
  const ruled = windowCases().map(({ schedule }) => ({ ...schedule, starts_on: '1970-01-01' }));
  const many = Array.from({ length: 1_000 }, (_, i) => ({
    ...NIGHTLY,
    ...ruled[i % ruled.length],
  }));
  openOccurrence(many, NOON);
  const before = process.threadCpuUsage();
  openOccurrence(many, NOON + DAY_MS);
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});
