import { expect, test } from 'vitest';
import { requestOf, timesText } from './blackout-rules.ts';

test('a form becomes a request; its times are those of the reader', () => {
  const form = {
    name: ' Year end ',
    reason: 'the shop',
    from: '2026-12-01T00:00',
    until: '2027-01-02T06:00',
  };
  const { name, scope, times } = requestOf({ ...form, scope: { kind: 'group', group: 'shop' } });
  expect({ name, scope }).toEqual({
    name: 'Year end',
    scope: { kind: 'some', groups: ['shop'], hosts: [] },
  });
  if (times.kind !== 'once') throw new Error('not between two times');
  expect(Date.parse(times.starts_at)).toBe(new Date(2026, 11, 1).getTime());
  expect(times.starts_at).toMatch(/:00Z$/);
});

test('times are said in the zone of the reader, recurring ones in their own', () => {
  const once = {
    times: { kind: 'once', starts_at: '2026-12-01T00:00:00Z', ends_at: '2026-12-02T00:00:00Z' },
  } as const;
  expect(timesText(once, 'Asia/Kolkata')).toBe(
    'from Tue, 1 Dec 2026, 05:30 until Wed, 2 Dec 2026, 05:30 (Asia/Kolkata)',
  );
  const schedule = {
    ...{ rrule: 'FREQ=DAILY', starts_on: '2026-01-01', start: '08:00' },
    ...{ zone: 'Europe/Berlin', duration_minutes: 600 },
  };
  expect(timesText({ times: { kind: 'recurring', schedule } }, 'UTC')).toBe(
    'every day at 08:00 (Europe/Berlin), for 10 h',
  );
});
