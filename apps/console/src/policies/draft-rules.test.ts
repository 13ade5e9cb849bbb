import {
  CATCH_UP_MAX_HOURS,
  POLICY_WINDOW_MIN_MINUTES,
  POLICY_WINDOWS_MAX,
  type Policy,
  PolicyRequest,
  PolicyTerms,
} from '@tidegate/protocol/policies-api';
import { REBOOT_WARN_MAX_MINUTES } from '@tidegate/protocol/reboots';
import type { Ring } from '@tidegate/protocol/rings';
import { RRULE_MAX_CHARS, WINDOW_MAX_MINUTES } from '@tidegate/protocol/windows-api';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import {
  doneBy,
  draftOf,
  draftToJudge,
  LIMITS,
  linesOf,
  newDraft,
  newWindow,
  requestOf,
} from './draft-rules.ts';
import { canaryThenRest } from './ring-draft.ts';

const NOW = Date.parse('2026-11-24T10:00:00Z');

const REQUEST: PolicyRequest = {
  ...{ name: 'Security of the web hosts', text: 'Agreed on 2 November.\nBy all.' },
  scope: { kind: 'some', groups: ['web'], hosts: ['01900000-0000-7000-a000-000000000001'] },
  terms: {
    ...{ ecosystems: ['npm', 'apt'], packages: ['*'], except_packages: ['linux-*', 'postgresql*'] },
    ...{ origins: ['Debian:*'], security_only: true, minimum_severity: 'high', max_change: 'minor' },
    ...{ min_age_hours: 48, remaining_vulnerabilities: 'approve' },
  },
  windows: [
    {
      ...{ rrule: 'FREQ=MONTHLY;BYDAY=2TU', starts_on: '2026-11-01', start: '22:00', zone: 'Europe/Berlin' },
      ...{ duration_minutes: 240, except: ['2026-12-08'] },
    },
    {
      rrule: null,
      starts_on: '2026-12-01',
      start: '10:30',
      zone: 'UTC',
      duration_minutes: 30,
      actions: ['install'],
      catch_up_hours: 12,
    },
    {
      ...{ rrule: 'FREQ=DAILY;INTERVAL=2', starts_on: '2026-12-01', start: '10:30', zone: 'UTC' },
      duration_minutes: 45,
    },
  ],
  ends_at: '2027-06-30T12:34:56Z',
  reboot: { when: 'needed', warn_minutes: 10 },
  restart_services: 'needed',
};

const POLICY: Policy = {
  ...REQUEST,
  ...{ id: '01900000-0000-7000-a000-000000000002', version: 1, sha256: 'a'.repeat(64), state: 'in_force' },
  ...{ end_reason: null, author: 'ada', created_at: '2026-11-01T00:00:00Z', ended_by: null },
  ...{ ended_at: null, last_run: null },
};

test('limits are those of the server', () => {
  expect(LIMITS).toEqual({
    windows: POLICY_WINDOWS_MAX,
    leastMinutes: POLICY_WINDOW_MIN_MINUTES,
    mostMinutes: WINDOW_MAX_MINUTES,
    ruleChars: RRULE_MAX_CHARS,
    warnMinutes: REBOOT_WARN_MAX_MINUTES,
    catchUpHours: CATCH_UP_MAX_HOURS,
  });
});

test('an edit keeps every member of the document, also those that the form does not show', () => {
  const canary: Ring = {
    name: 'canary',
    members: { kind: 'percent', percent: 5 },
    deadline_minutes: 60,
    gate: {
      ...{ min_success_count: 1, min_success_rate_percent: 100, soak_minutes: 60 },
      ...{ probes: 'green', approval: false },
    },
    halt: { failed_hosts: 1, failed_percent: null },
  };
  const rest: Ring = { ...canary, name: 'rest', members: { kind: 'rest' }, gate: null };
  const whole: PolicyRequest = {
    ...REQUEST,
    terms: { ...REQUEST.terms, only: [{ ecosystem: 'apt', name: 'curl', version: '8.0-1' }] },
    rings: [canary, rest],
    unproven: { wait_days: 3 },
  };
  // A member that is added to the document has to be in this sample.
  expect(Object.keys(whole).toSorted()).toEqual(Object.keys(PolicyRequest.properties).toSorted());
  expect(Object.keys(whole.terms).toSorted()).toEqual(Object.keys(PolicyTerms.properties).toSorted());
  expect(requestOf(draftOf({ ...POLICY, ...whole }, NOW))).toEqual(whole);
});

test.each([undefined, 'ask' as const, { wait_days: 9 }])(
  'what is said of unproven packages stays: %j',
  (unproven) => {
    const policy = { ...POLICY, ...(unproven !== undefined && { unproven }) };
    expect(requestOf(draftOf(policy, NOW)).unproven).toEqual(unproven);
  },
);

test('a preview and a backtest judge the rings with the rest, and nothing else of the request', () => {
  const request = requestOf({ ...newDraft(NOW), rings: canaryThenRest() });
  const { scope, terms, windows, rings } = request;
  expect(draftToJudge(request)).toEqual({ scope, terms, windows, rings });
  const asked = { restart_services: 'needed', reboot: { when: 'always', warn_minutes: 5 } } as const;
  expect(draftToJudge({ ...request, ...asked })).toMatchObject(asked);
  expect(draftToJudge(requestOf(newDraft(NOW)))).not.toHaveProperty('rings');
});

test('a form that is not touched asks for what the policy is', () => {
  expect(requestOf(draftOf(POLICY, NOW))).toEqual(REQUEST);
  const other: PolicyRequest = {
    ...REQUEST,
    scope: { kind: 'all' },
    terms: { ...REQUEST.terms, min_age_hours: null, minimum_severity: null, security_only: false },
    windows: [],
  };
  expect(requestOf(draftOf({ ...POLICY, ...other }, NOW))).toEqual(other);
});

test.each([
  [undefined, 'never', '5', undefined],
  [{ when: 'never', warn_minutes: 9 }, 'never', '9', { when: 'never', warn_minutes: 9 }],
  [{ when: 'needed', warn_minutes: 9 }, 'never', '9', undefined],
  [undefined, 'always', '0', { when: 'always', warn_minutes: 0 }],
] as const)('of a policy with %j the form makes reboots %s, %s: %j', (before, reboot, warnMinutes, after) => {
  const { reboot: _, ...silent } = POLICY;
  const draft = draftOf({ ...silent, ...(before && { reboot: before }) }, NOW);
  expect(requestOf({ ...draft, reboot, warnMinutes }).reboot).toEqual(after);
});

test.each([
  [undefined, 'never', undefined],
  ['never', 'never', 'never'],
  ['needed', 'never', undefined],
  ['never', 'needed', 'needed'],
] as const)('of a policy with %s the form makes restarts of services %s: %s', (before, restarts, after) => {
  const { restart_services: _, ...silent } = POLICY;
  const draft = draftOf({ ...silent, ...(before && { restart_services: before }) }, NOW);
  expect(requestOf({ ...draft, restarts }).restart_services).toBe(after);
});

test.each([
  ['never', 'never', ['install']],
  ['never', 'always', ['install', 'reboot']],
  ['needed', 'never', ['install', 'restart_services']],
  ['needed', 'needed', ['install', 'restart_services', 'reboot']],
] as const)('restarts %s, reboots %s: a window can be for %j', (restarts, reboot, done) => {
  expect(doneBy({ restarts, reboot })).toEqual(done);
});

test('another day is a new end, at the end of that day in UTC', () => {
  const draft = draftOf(POLICY, NOW);
  expect(requestOf({ ...draft, endsOn: '2027-07-01' }).ends_at).toBe('2027-07-01T23:59:59Z');
});

test('a policy whose end has come is proposed a new one', () => {
  const draft = draftOf({ ...POLICY, ends_at: '2026-11-24T09:00:00Z', state: 'expired' }, NOW);
  expect(requestOf(draft).ends_at).toBe('2027-02-22T23:59:59Z');
});

test('a new policy with a new window has the form that the server takes, once it has name and text', () => {
  const draft = newDraft(NOW);
  const window = newWindow([], { nowMs: NOW, zone: 'Europe/Berlin' });
  const request = requestOf({ ...draft, name: ' Nightly ', text: 'x', windows: [window] });
  expect(Value.Errors(PolicyRequest, request)).toEqual([]);
  expect(request.name).toBe('Nightly');
  expect(request.windows).toEqual([
    {
      ...{ rrule: 'FREQ=DAILY', starts_on: '2026-11-25', start: '22:00', zone: 'Europe/Berlin' },
      duration_minutes: 240,
    },
  ]);
  expect(Value.Check(PolicyRequest, requestOf(draft))).toBe(false);
});

test('a window that opens once leaves out no dates, whatever was written before', () => {
  const [window] = draftOf(POLICY, NOW).windows;
  if (!window) throw new Error('the policy has windows');
  const { windows } = requestOf({ ...newDraft(NOW), windows: [{ ...window, recurs: 'once' }] });
  expect(windows).toMatchObject([{ rrule: null, starts_on: '2026-11-01' }]);
  expect(windows[0]).not.toHaveProperty('except');
});

test('windows of one form differ by their keys, also after one is removed', () => {
  const add = (windows: Parameters<typeof newWindow>[0]) => newWindow(windows, { nowMs: NOW, zone: 'UTC' });
  const first = add([]);
  const second = add([first]);
  const third = add([second]);
  expect([first, second, third].map(({ key }) => key)).toEqual([0, 1, 2]);
});

test.each([
  ['curl\n lib* \n\ncurl', ['curl', 'lib*']],
  ['Docker CE:bookworm', ['Docker CE:bookworm']],
  [' \n ', []],
])('the lines of %j are %j', (text, expected) => {
  expect(linesOf(text)).toEqual(expected);
});
