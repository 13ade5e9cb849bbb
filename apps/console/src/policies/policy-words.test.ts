import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { expect, test } from 'vitest';
import {
  durationText,
  leftText,
  runText,
  scheduleText,
  scopeText,
  termLines,
  zonedTime,
} from './policy-words.ts';

const TERMS: PolicyTerms = {
  ...{ ecosystems: ['apt'], packages: ['*'], except_packages: [], origins: [], security_only: false },
  ...{ minimum_severity: null, max_change: 'any', min_age_hours: null, remaining_vulnerabilities: 'ask' },
};
const WINDOW: Schedule = {
  ...{ rrule: 'FREQ=MONTHLY;BYDAY=2TU', starts_on: '2026-11-01', start: '22:00' },
  ...{ zone: 'Europe/Berlin', duration_minutes: 240 },
};

test.each([
  [{ kind: 'all' } as const, 'All hosts'],
  [{ kind: 'some' as const, groups: ['web'], hosts: [] }, 'Group web'],
  [{ kind: 'some' as const, groups: ['web', 'db'], hosts: ['1'] }, 'Groups web, db and 1 host'],
  [{ kind: 'some' as const, groups: [], hosts: ['1', '2'] }, '2 hosts'],
])('%j is "%s"', (scope, text) => {
  expect(scopeText(scope)).toBe(text);
});

test('conditions that let everything pass are not listed, others each have a line', () => {
  expect(termLines(TERMS)).toEqual([
    'Ecosystems: apt',
    'Every package',
    'Not where other known vulnerabilities stay on the host',
  ]);
  const narrow: Partial<PolicyTerms> = {
    ...{ packages: ['curl'], except_packages: ['curl-*'], origins: ['Debian*'], security_only: true },
    ...{ minimum_severity: 'high', max_change: 'minor', min_age_hours: 1 },
  };
  const lines = termLines({ ...TERMS, ...narrow });
  expect(lines).toHaveLength(9);
  expect(lines).toContain('Every new version at least 1 hour old');
  expect(lines).not.toContain('Every package');
});

test.each<[string | null, string]>([
  [null, 'on 2026-11-01 at'],
  ['FREQ=DAILY', 'every day at'],
  ['FREQ=WEEKLY;BYDAY=SU', 'every Sunday at'],
  ['FREQ=WEEKLY;BYDAY=MO,TU,FR', 'every Monday, Tuesday and Friday at'],
  ['FREQ=MONTHLY;BYDAY=2TU', 'on the second Tuesday of each month at'],
  ['FREQ=MONTHLY;BYDAY=-1FR', 'on the last Friday of each month at'],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SU', 'by the rule FREQ=WEEKLY;INTERVAL=2;BYDAY=SU at'],
])('the rule %s is "%s"', (rrule, text) => {
  expect(scheduleText({ ...WINDOW, rrule })).toBe(`${text} 22:00 (Europe/Berlin) for 4 hours`);
});

test.each([
  [30, '30 minutes'],
  [60, '1 hour'],
  [61, '1 hour 1 minute'],
  [10_080, '168 hours'],
])('%i minutes are %s', (minutes, text) => {
  expect(durationText(minutes)).toBe(text);
});

test('a time is that of the zone', () => {
  expect(zonedTime('2026-12-08T21:00:00Z', 'Europe/Berlin')).toBe('Tue, 8 Dec 2026, 22:00');
  expect(zonedTime('2026-12-08T21:00:00Z', 'Asia/Kolkata')).toBe('Wed, 9 Dec 2026, 02:30');
});

test('a run says what it did, and a reason that is not known is shown as it is', () => {
  const run = { at: '2026-12-08T21:00:00Z', hosts: 3, approved: 2, awaiting_plan: 1, stopped: 4 };
  expect(runText(run)).toBe('2 approved, 1 wait for a plan, 4 left to people');
  expect(runText({ ...run, approved: 0, awaiting_plan: 0, stopped: 0 })).toBe('nothing to approve');
  expect(leftText('held')).toContain('keeps a package');
  expect(leftText('something_new')).toBe('something_new');
});
