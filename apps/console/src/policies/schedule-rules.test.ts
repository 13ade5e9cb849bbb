import { expect, test } from 'vitest';
import {
  minutesText,
  recurrenceOf,
  rruleOf,
  scheduleText,
  wallTime,
  windowsText,
  windowText,
  zoneOf,
} from './schedule-rules.ts';

const NIGHTLY = {
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-11-01', start: '02:30', zone: 'Europe/Berlin' },
  duration_minutes: 240,
};

test.each([
  [null, 'once'],
  ['FREQ=DAILY', 'daily'],
  ['FREQ=WEEKLY;BYDAY=TU,TH', 'weekly'],
  ['FREQ=MONTHLY;BYDAY=2TU', 'monthly'],
  ['FREQ=MONTHLY;BYDAY=-1SU', 'monthly'],
  ['FREQ=WEEKLY;BYDAY=TU,TU', 'rule'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=TU', 'rule'],
  ['FREQ=MONTHLY;BYDAY=-2SU', 'rule'],
  ['FREQ=MONTHLY;BYDAY=2TU,4TU', 'rule'],
  ['FREQ=DAILY;COUNT=3', 'rule'],
] as const)('the rule %s is offered as: %s, and stays the same rule', (rrule, recurs) => {
  const recurrence = recurrenceOf(rrule);
  expect(recurrence.recurs).toBe(recurs);
  expect(rruleOf(recurrence)).toBe(rrule);
});

test('days in another order mean the same, and are written in the order of the week', () => {
  expect(rruleOf(recurrenceOf('FREQ=WEEKLY;BYDAY=TH,TU'))).toBe('FREQ=WEEKLY;BYDAY=TU,TH');
});

test.each([
  [{ rrule: null }, 'once, on 2026-11-01 at 02:30 (Europe/Berlin), for 4 h'],
  [{}, 'every day at 02:30 (Europe/Berlin), for 4 h'],
  [
    { rrule: 'FREQ=WEEKLY;BYDAY=MO,TU,WE' },
    'every Monday, Tuesday and Wednesday at 02:30 (Europe/Berlin), for 4 h',
  ],
  [
    { rrule: 'FREQ=MONTHLY;BYDAY=2TU', duration_minutes: 90 },
    'on the second Tuesday of each month at 02:30 (Europe/Berlin), for 1 h 30 min',
  ],
  [{ rrule: 'FREQ=DAILY;INTERVAL=3' }, 'by the rule FREQ=DAILY;INTERVAL=3 at 02:30 (Europe/Berlin), for 4 h'],
  [{ except: ['2026-12-24'] }, 'every day at 02:30 (Europe/Berlin), for 4 h, without 1 date'],
])('%j reads: %s', (change, expected) => {
  expect(scheduleText({ ...NIGHTLY, ...change })).toBe(expected);
});

test('several windows are the first and a number', () => {
  expect(windowsText([])).toBe('at any time');
  expect(windowsText([NIGHTLY, NIGHTLY, NIGHTLY])).toBe(`${scheduleText(NIGHTLY)}, and 2 more windows`);
});

test.each([
  [30, '30 min'],
  [60, '1 h'],
  [1_530, '1 d 1 h 30 min'],
  [10_080, '7 d'],
])('%d minutes read: %s', (minutes, expected) => {
  expect(minutesText(minutes)).toBe(expected);
});

test('a time is shown in each zone; a zone that the browser does not know has none', () => {
  expect(wallTime('2026-11-10T21:00:00Z', 'Europe/Berlin')).toBe('Tue, 10 Nov 2026, 22:00');
  expect(wallTime('2026-11-10T23:30:00Z', 'Europe/Berlin')).toBe('Wed, 11 Nov 2026, 00:30');
  expect(wallTime('2026-11-10T21:00:00Z', 'Europe/Atlantis')).toBeNull();
});

test.each([
  ['as long, and at its wall time', '2026-11-10T13:00:00Z', '2026-11-10T17:00:00Z', 'Asia/Tokyo'],
  ['another length', '2026-11-10T21:00:00Z', '2026-11-10T22:00:00Z', 'UTC'],
  // 02:30 does not exist in Berlin on this day: the window opens at 03:30.
  ['a start that the clocks skip', '2027-03-28T01:30:00Z', '2027-03-28T05:30:00Z', 'Europe/Berlin'],
])('a window belongs to the schedule that is %s', (_, opens_at, closes_at, zone) => {
  const schedules = [
    NIGHTLY,
    { ...NIGHTLY, start: '22:00', zone: 'Asia/Tokyo' },
    { ...NIGHTLY, zone: 'UTC', duration_minutes: 60 },
  ];
  expect(zoneOf({ opens_at, closes_at }, schedules)).toBe(zone);
});

test('a window that says what it is for is shown with it', () => {
  const nightly = scheduleText(NIGHTLY);
  expect(windowText(NIGHTLY)).toBe(nightly);
  expect(windowText({ ...NIGHTLY, actions: ['reboot'] })).toBe(`${nightly}, only for rebooting`);
  expect(windowText({ ...NIGHTLY, catch_up_hours: 6 })).toBe(`${nightly}, and 6 h for hosts that missed it`);
  expect(windowsText([{ ...NIGHTLY, actions: ['install', 'reboot'] }, NIGHTLY])).toBe(
    `${nightly}, only for installing and rebooting, and 1 more window`,
  );
});
