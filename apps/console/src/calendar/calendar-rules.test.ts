import type { CalendarDay, CalendarEntry } from '@tidegate/protocol/calendar-api';
import { expect, test } from 'vitest';
import {
  dateIn,
  dayAfterKey,
  entriesOn,
  lanesOf,
  longDate,
  oddHours,
  rangeOf,
  ranText,
  startingOn,
  stepped,
  titleOf,
} from './calendar-rules.ts';
import { partOfDay, placeOf, spanText } from './entry-rules.ts';

const dayOf = (date: string, starts_at: string, ends_at: string): CalendarDay => ({
  ...{ date, starts_at: `2026-${starts_at}:00Z`, ends_at: `2026-${ends_at}:00Z` },
});
const entry = (from: string, until: string): CalendarEntry => ({
  ...{
    kind: 'window',
    id: null,
    name: 'Nightly',
    zone: 'Asia/Kolkata',
    live: true,
    actions: [],
    count: null,
  },
  ...{ starts_at: `2026-${from}:00Z`, ends_at: `2026-${until}:00Z` },
});
const MONDAY = dayOf('2026-11-23', '11-23T00:00', '11-24T00:00');
const TUESDAY = dayOf('2026-11-24', '11-24T00:00', '11-25T00:00');

test.each([
  ['month', '2026-11-25', { from: '2026-10-26', days: 42 }],
  ['month', '2027-02-28', { from: '2027-02-01', days: 42 }],
  ['week', '2026-11-29', { from: '2026-11-23', days: 7 }],
  ['agenda', '2026-11-25', { from: '2026-11-25', days: 28 }],
] as const)('the %s of %s begins on a Monday, the agenda on its day', (view, date, range) => {
  expect(rangeOf(view, date)).toEqual(range);
});

test.each([
  ['month', '2026-01-31', 1, '2026-02-28'],
  ['month', '2026-03-31', -1, '2026-02-28'],
  ['month', '2026-12-15', 1, '2027-01-15'],
  ['month', '2027-01-15', -1, '2026-12-15'],
  ['week', '2026-12-30', 1, '2027-01-06'],
  ['agenda', '2026-11-25', -1, '2026-10-28'],
] as const)('one step of the %s from %s by %s leads to %s', (view, date, step, to) => {
  expect(stepped(view, date, step)).toBe(to);
});

test.each([
  ['ArrowLeft', '2026-10-31'],
  ['ArrowRight', '2026-11-02'],
  ['ArrowUp', '2026-10-25'],
  ['ArrowDown', '2026-11-08'],
  // A Sunday.
  ['Home', '2026-10-26'],
  ['End', '2026-11-01'],
  ['x', null],
])('%s leads from 1 November to %s', (key, to) => {
  expect(dayAfterKey('2026-11-01', key)).toBe(to);
});

test('a moment has the date of its zone, and dates and stretches are written out', () => {
  const ms = Date.parse('2026-11-25T12:00:00Z');
  expect([dateIn(ms, 'UTC'), dateIn(ms, 'Pacific/Kiritimati')]).toEqual(['2026-11-25', '2026-11-26']);
  expect(longDate('2026-11-25')).toBe('Wednesday, 25 November 2026');
  expect(titleOf('month', '2026-11-25')).toBe('November 2026');
  expect(titleOf('week', '2026-12-31')).toBe('28 Dec 2026 to 3 Jan 2027');
});

test.each([
  ['within', '11-23T10:00', '11-23T11:00', [1, 0]],
  ['over midnight', '11-23T22:00', '11-24T06:00', [1, 1]],
  ['up to midnight', '11-23T22:00', '11-24T00:00', [1, 0]],
  ['over both', '11-20T00:00', '11-30T00:00', [1, 1]],
  ['before', '11-22T22:00', '11-23T00:00', [0, 0]],
  ['a moment within', '11-24T18:00', '11-24T18:00', [0, 1]],
  ['a moment at midnight', '11-24T00:00', '11-24T00:00', [0, 1]],
])('an entry %s stands on the days that it overlaps', (_, from, until, counts) => {
  const on = (day: CalendarDay) => entriesOn(day, [entry(from, until)]).length;
  expect([on(MONDAY), on(TUESDAY)]).toEqual(counts);
  // An agenda has each once.
  const agenda = startingOn([MONDAY, TUESDAY], [entry(from, until)]).flatMap(({ entries }) => entries);
  expect(agenda).toHaveLength(Math.max(...counts));
});

test('days with 23 and 25 hours say so, others do not', () => {
  expect(oddHours(MONDAY)).toBeNull();
  expect(oddHours(dayOf('2026-03-29', '03-28T23:00', '03-29T22:00'))).toBe(23);
  expect(oddHours(dayOf('2026-10-25', '10-24T22:00', '10-25T23:00'))).toBe(25);
});

test('times are written in both zones, with the date where it is another one', () => {
  const night = entry('11-23T22:00', '11-24T01:00');
  expect(spanText(night, 'UTC', '2026-11-23')).toBe('22:00 to 01:00 on 24 Nov');
  expect(spanText(night, 'Asia/Kolkata', '2026-11-23')).toBe('03:30 to 06:30 on 24 Nov');
  expect(spanText(night, 'UTC', '2026-11-24')).toBe('22:00 on 23 Nov to 01:00');
  expect(spanText(entry('11-23T22:00', '11-23T22:00'), 'UTC', '2026-11-23')).toBe('22:00');
  expect(spanText(night, 'Europe/Atlantis', '2026-11-23')).toBeNull();
  expect([MONDAY, TUESDAY].map((day) => partOfDay(night, day, 'UTC'))).toEqual(['22:00', 'until 01:00']);
  expect(partOfDay(entry('11-20T00:00', '11-30T00:00'), MONDAY, 'UTC')).toBe('all day');
  expect(placeOf('America/Argentina/Buenos_Aires')).toBe('Buenos Aires');
});

test('a wall time that happens twice is written as its zone shows it, each time', () => {
  const fold = entry('10-25T00:30', '10-25T01:30');
  expect(spanText(fold, 'Europe/Berlin', '2026-10-25')).toBe('02:30 to 02:30');
});

test('what ran is added up for a day; what did not happen is not named', () => {
  const run = {
    date: '',
    policy_id: null,
    policy_name: null,
    approved: null,
    installed: 2,
    failed: 0,
    refused: 0,
  };
  expect(ranText([])).toBeNull();
  expect(ranText([run, { ...run, failed: 1 }])).toBe('4 installed, 1 failed');
  expect(ranText([{ ...run, installed: 0, approved: 3 }])).toBe('3 approved');
});

test.each([
  [
    'one after the other',
    [
      [0, 1],
      [1, 2],
    ],
    [0, 0],
    1,
  ],
  [
    'two at once',
    [
      [0, 2],
      [1, 3],
      [2, 4],
    ],
    [0, 1, 0],
    2,
  ],
  ['none', [], [], 1],
])('%s stand beside each other only where they overlap', (_, spans, lanes, count) => {
  const given = spans.map(([startMs = 0, endMs = 0]) => ({ startMs, endMs }));
  expect(lanesOf(given)).toEqual({ lanes, count });
});
