import type { BlackoutTimes } from '@tidegate/protocol/blackouts-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLOCK_SKEW_MS, occurrences } from '../windows/schedule-rules.ts';
import {
  activeAt,
  type Blackout,
  CHANGING_ACTIONS,
  createFreezes,
  createThaws,
  nextAfter,
  timesFault,
} from './blackout-rules.ts';

const HOUR_MS = 3_600_000;
const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
const once = (from: string, until: string): BlackoutTimes => ({
  ...{ kind: 'once', starts_at: `2026-11-${from}:00Z`, ends_at: `2026-11-${until}:00Z` },
});
const schedule = (change: Partial<Schedule> = {}): Schedule => ({
  ...{ rrule: 'FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', starts_on: '2026-01-01', start: '08:00' },
  ...{ zone: 'Europe/Berlin', duration_minutes: 600, ...change },
});
const recurring = (change: Partial<Schedule> = {}): BlackoutTimes => ({
  ...{ kind: 'recurring', schedule: schedule(change) },
});
const blackout = (times: BlackoutTimes, change: Partial<Blackout> = {}): Blackout => ({
  ...{ name: 'Freeze', scope: { kind: 'all' }, times, ...change },
});
const HOST = { id: 'h1', group: 'web', tags: ['env=prod'] };

test('all commands that change a host are withheld, and none that only reads or keeps it reachable', () => {
  expect(CHANGING_ACTIONS).toEqual([
    'install_update',
    'repair',
    'reboot',
    'restart_services',
    'update_agent',
  ]);
});

describe('a blackout between two times', () => {
  const times = once('24T10:00', '26T10:00');

  test.each([
    ['24T09:54', false],
    ['24T09:55', true],
    ['24T10:00', true],
    ['26T09:59', true],
    ['26T10:00', false],
  ])('at %s it withholds: %s', (moment, isActive) => {
    expect(activeAt(times, at(moment)) !== null).toBe(isActive);
  });

  test('comes next until it starts', () => {
    const next = (moment: string) => nextAfter(times, { afterMs: at(moment), count: 5 });
    expect(next('24T09:59')).toEqual([{ startMs: at('24T10:00'), endMs: at('26T10:00') }]);
    expect(next('24T10:00')).toEqual([]);
  });
});

describe('a recurring blackout', () => {
  test.each([
    ['Friday morning, in the zone of the schedule', '27T06:54', false],
    ['five minutes before it', '27T06:55', true],
    ['its last minute', '27T16:59', true],
    ['its end', '27T17:00', false],
    ['Saturday', '28T09:00', false],
  ])('%s', (_, moment, isActive) => {
    expect(activeAt(recurring(), at(moment)) !== null).toBe(isActive);
  });

  test('that is shorter than the five minutes is not missed', () => {
    const short = recurring({ start: '08:02', duration_minutes: 1 });
    expect(activeAt(short, at('27T06:58'))).toEqual({ startMs: at('27T07:02'), endMs: at('27T07:03') });
  });

  test('withholds exactly from five minutes before each occurrence to its end', () => {
    const rules = fc.constantFrom('FREQ=DAILY', 'FREQ=WEEKLY;BYDAY=MO', 'FREQ=DAILY;INTERVAL=3');
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kolkata');
    const durations = fc.constantFrom(1, 4, 5, 30, 1_439, 1_440, 1_441, 10_080);
    fc.assert(
      fc.property(
        ...[rules, zones, durations, fc.nat(), fc.boolean(), fc.integer({ min: -10, max: 10 })],
        (rrule, zone, duration_minutes, nth, isEnd, minutes) => {
          const own = schedule({ rrule, zone, duration_minutes, start: '02:30' });
          // Around the change of the clocks in October.
          const fromMs = Date.parse('2026-10-05T00:00:00Z');
          const all = occurrences(own, { fromMs, toMs: fromMs + 40 * 24 * HOUR_MS, limit: 50 });
          const { startMs, endMs } = all[nth % all.length] ?? { startMs: 0, endMs: 0 };
          const nowMs = (isEnd ? endMs : startMs) + minutes * 60_000;
          const near = occurrences(own, { fromMs: nowMs - HOUR_MS, toMs: nowMs + HOUR_MS, limit: 50 });
          const isIn = near.some((one) => one.startMs - CLOCK_SKEW_MS <= nowMs && nowMs < one.endMs);
          expect(activeAt({ kind: 'recurring', schedule: own }, nowMs) !== null).toBe(isIn);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('hosts', () => {
  const NOW = at('24T12:00');

  test.each<[string, Blackout['scope'], boolean]>([
    ['all', { kind: 'all' }, true],
    ['its group', { kind: 'some', groups: ['web'], hosts: [] }, true],
    ['itself', { kind: 'some', groups: [], hosts: ['h1'] }, true],
    ['a tag of it', { kind: 'some', groups: [], hosts: [], tags: ['env=test', 'env=prod'] }, true],
    ['another value of its tag', { kind: 'some', groups: [], hosts: [], tags: ['env=test'] }, false],
    ['others', { kind: 'some', groups: ['db'], hosts: ['h2'], tags: ['role=db'] }, false],
  ])('a blackout of %s', (_, scope, isIn) => {
    const freezes = createFreezes([blackout(once('24T10:00', '26T10:00'), { scope })], NOW);
    expect(freezes.of(HOST) !== null).toBe(isIn);
  });

  test('a host without a group is in no blackout of groups', () => {
    const scope: Blackout['scope'] = { kind: 'some', groups: ['web'], hosts: [] };
    const freezes = createFreezes([blackout(once('24T10:00', '26T10:00'), { scope })], NOW);
    expect(freezes.of({ id: 'h1', group: null, tags: [] })).toBeNull();
  });

  test('of several blackouts the one that ends last counts, in any order', () => {
    const short = blackout(once('24T10:00', '24T13:00'), { name: 'short' });
    const long = blackout(once('24T10:00', '26T10:00'), { name: 'long' });
    for (const list of [
      [short, long],
      [long, short],
    ]) {
      expect(createFreezes(list, NOW).of(HOST)).toEqual({ blackout: long, untilMs: at('26T10:00') });
    }
  });

  test('what is signed ends five minutes before the next blackout of the host', () => {
    const list = [
      blackout(once('24T18:00', '24T19:00')),
      blackout(once('24T15:00', '24T16:00'), { scope: { kind: 'some', groups: ['db'], hosts: [] } }),
      blackout(recurring({ rrule: 'FREQ=DAILY', start: '22:00' })),
    ];
    const freezes = createFreezes(list, NOW);
    expect(freezes.notAfterMs(HOST)).toBe(at('24T17:55'));
    expect(freezes.notAfterMs({ id: 'h2', group: 'db', tags: [] })).toBe(at('24T14:55'));
    expect(createFreezes([], NOW).notAfterMs(HOST)).toBe(Infinity);
  });

  test('blackouts that follow each other are one for whoever waits for their end', () => {
    const list = [
      blackout(once('25T10:00', '26T10:00')),
      blackout(once('24T10:00', '25T10:00')),
      // The gap of four minutes is too short for a host.
      blackout(once('26T10:04', '27T10:00')),
      blackout(once('27T11:00', '28T10:00')),
      blackout(once('24T10:00', '30T10:00'), { scope: { kind: 'some', groups: ['db'], hosts: [] } }),
    ];
    const thawOf = createThaws(list, NOW);
    expect(thawOf(HOST)).toBe(at('27T10:00'));
    expect(thawOf({ id: 'h2', group: 'db', tags: [] })).toBe(at('30T10:00'));
    expect(thawOf({ id: 'h3', group: null, tags: [] })).toBe(at('27T10:00'));
    expect(createThaws(list, at('29T10:00'))(HOST)).toBe(at('29T10:00'));
  });

  test('a blackout without a gap does not hang whoever waits for its end', () => {
    const endless = blackout(recurring({ rrule: 'FREQ=DAILY', duration_minutes: 1_440 }));
    expect(createThaws([endless], NOW)(HOST)).toBeGreaterThan(NOW + 90 * 24 * HOUR_MS);
  });
});

describe('times that are refused', () => {
  const NOW = at('24T12:00');

  test.each<[string, BlackoutTimes, string]>([
    ['an end before the start', once('26T10:00', '25T10:00'), '/times/ends_at'],
    ['an end in the past', once('22T10:00', '23T10:00'), '/times/ends_at'],
    [
      'more than 366 days',
      { kind: 'once', starts_at: '2026-11-24T12:00:00Z', ends_at: '2027-11-25T12:00:01Z' },
      '/times/ends_at',
    ],
    ['an unknown zone', recurring({ zone: 'Europe/Nowhere' }), '/times/schedule'],
    ['a rule without dates', recurring({ rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' }), '/times/schedule'],
  ])('%s', (_, times, path) => {
    expect(timesFault(times, NOW)?.path).toBe(path);
  });

  test.each<[string, BlackoutTimes]>([
    ['one that has begun', once('20T10:00', '25T10:00')],
    ['366 days', { kind: 'once', starts_at: '2026-11-24T12:00:00Z', ends_at: '2027-11-25T12:00:00Z' }],
    ['working hours', recurring()],
  ])('%s is allowed', (_, times) => {
    expect(timesFault(times, NOW)).toBeNull();
  });
});
