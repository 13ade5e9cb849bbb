import {
  POLICY_MISMATCHES,
  POLICY_SEVERITIES,
  type PolicyPreview,
  type PolicyScope,
  type PolicyTerms,
} from '@tidegate/protocol/policies-api';
import { expect, test } from 'vitest';
import {
  missedText,
  previewText,
  reasonText,
  runText,
  SEVERITY_KEYS,
  scopeText,
  shortRunText,
  termFacts,
} from './policy-rules.ts';

const TERMS: PolicyTerms = {
  ...{ ecosystems: ['apt'], packages: ['*'], except_packages: [], origins: [], security_only: false },
  ...{ minimum_severity: null, max_change: 'any', min_age_hours: null, remaining_vulnerabilities: 'ask' },
};

test('severities are those of the protocol', () => {
  expect(SEVERITY_KEYS).toEqual(POLICY_SEVERITIES);
});

test.each([...POLICY_MISMATCHES, 'taken_back', 'other_version', 'not_judged_here', 'too_young'])(
  'the reason %s is a sentence',
  (reason) => {
    expect(reasonText(reason)).toMatch(/^[A-Z].* .*\.$/);
  },
);

test('a reason that this console does not know is shown as it is', () => {
  expect(reasonText('of_a_newer_server')).toBe('of_a_newer_server');
  expect(reasonText('constructor')).toBe('constructor');
});

test.each([
  [{ kind: 'all' }, 'all hosts'],
  [{ kind: 'some', groups: ['web'], hosts: [] }, 'the group web'],
  [{ kind: 'some', groups: ['db', 'web'], hosts: [] }, 'the groups db and web'],
  [{ kind: 'some', groups: [], hosts: ['a'] }, '1 host'],
  [{ kind: 'some', groups: ['web'], hosts: ['a', 'b'] }, 'the group web, and 2 hosts'],
  [{ kind: 'some', groups: [], hosts: [], tags: ['env=prod'] }, 'the tag env=prod'],
  [
    { kind: 'some', groups: ['web'], hosts: ['a'], tags: ['env=prod', 'site=wien'] },
    'the group web, and the tags env=prod and site=wien, and 1 host',
  ],
] satisfies [PolicyScope, string][])('the scope %j reads: %s', (scope, expected) => {
  expect(scopeText(scope)).toBe(expected);
});

test.each<[Partial<PolicyTerms>, string, string | undefined]>([
  [{ ecosystems: ['apt', 'npm', 'pypi'] }, 'Package managers', 'apt, npm and PyPI'],
  [{ packages: ['curl', '*'] }, 'Packages', 'all'],
  [{ packages: ['curl', 'lib*'] }, 'Packages', 'curl, lib*'],
  [{}, 'Except', 'none'],
  [{ except_packages: ['linux-*'] }, 'Except', 'linux-*'],
  [{}, 'Chosen versions', undefined],
  [{ only: [{ ecosystem: 'apt', name: 'curl', version: '8.0-1' }] }, 'Chosen versions', 'only curl 8.0-1'],
  [
    {
      only: Array.from({ length: 500 }, (_, i) => ({ ecosystem: 'apt', name: `p${i}`, version: '1' })),
    },
    'Chosen versions',
    `only ${Array.from({ length: 20 }, (_, i) => `p${i} 1`).join(', ')}, and 480 more`,
  ],
  [{}, 'Origins', 'any'],
  [{ security_only: true }, 'Updates', 'security updates, and what fixes a known vulnerability'],
  [{}, 'Severity', 'any'],
  [{ minimum_severity: 'high' }, 'Severity', 'only what fixes a vulnerability that is high or critical'],
  [{ max_change: 'patch' }, 'Greatest change', undefined],
  [
    { ecosystems: ['npm'], max_change: 'patch' },
    'Greatest change',
    'a patch, such as 1.4.2 to 1.4.3 (npm and PyPI)',
  ],
  [{}, 'Minimum age', 'none'],
  [{ min_age_hours: 24 }, 'Minimum age', '1 day'],
  [{ min_age_hours: 36 }, 'Minimum age', '36 hours'],
  [{ remaining_vulnerabilities: 'ask' }, 'If vulnerabilities remain', 'a person decides'],
  [{}, 'When', 'at any time'],
])('terms with %j: %s is %s', (change, name, expected) => {
  const facts = new Map(termFacts({ terms: { ...TERMS, ...change }, windows: [] }));
  expect(facts.get(name)).toBe(expected);
});

test('terms name every window', () => {
  const once = { rrule: null, starts_on: '2026-12-01', start: '02:00', zone: 'UTC', duration_minutes: 60 };
  const facts = new Map(termFacts({ terms: TERMS, windows: [once, { ...once, rrule: 'FREQ=DAILY' }] }));
  expect(facts.get('When')).toBe(
    'once, on 2026-12-01 at 02:00 (UTC), for 1 h; every day at 02:00 (UTC), for 1 h',
  );
});

const PREVIEW: PolicyPreview = {
  ...{
    open_window: null,
    open_besides: [],
    next_windows: [],
    hosts: 12,
    hosts_shown: [],
    approves: 3,
    unplanned: 0,
  },
  ...{ leaves: 5, reasons: [], updates: [] },
};

test.each([
  [{}, 'It reaches 12 hosts and would approve 3 updates now; 5 are left to people'],
  [
    { approves: 1, unplanned: 2, leaves: 1 },
    'It reaches 12 hosts and would approve 1 update now; 2 more once their hosts have sent a plan; 1 is left to people',
  ],
  [
    { unplanned: 1 },
    'It reaches 12 hosts and would approve 3 updates now; 1 more once its host has sent a plan; 5 are left to people',
  ],
  [{ hosts: 1, leaves: 0 }, 'It reaches 1 host and would approve 3 updates now; none are left to people'],
])('a preview with %j reads: %s', (change, expected) => {
  expect(previewText({ ...PREVIEW, ...change }, [])).toBe(expected);
});

test('a preview says whether it is about now, or about a window that is closed', () => {
  const window = { rrule: null, starts_on: '2026-12-01', start: '02:00', zone: 'UTC', duration_minutes: 60 };
  const times = { opens_at: '2026-12-01T02:00:00Z', closes_at: '2026-12-01T03:00:00Z' };
  const open = { ...times, actions: ['install' as const] };
  expect(previewText(PREVIEW, [window])).toContain('would approve 3 updates if a window were open;');
  expect(previewText({ ...PREVIEW, open_window: open }, [window])).toContain('would approve 3 updates now;');
});

test('a preview of rings does not read as if all hosts got their updates at once', () => {
  const rings = { rings: [], unrepresented: [] };
  expect(previewText({ ...PREVIEW, rings }, [])).toContain('would approve 3 updates now, ring by ring;');
});

test('a run has its three counts', () => {
  const run = {
    at: '2026-11-24T00:00:00Z',
    hosts: 4,
    approved: 1_200,
    awaiting_plan: 1,
    stopped: 0,
    stopped_by: [],
  };
  expect(shortRunText(run)).toBe('1,200 approved, 1 waiting, 0 stopped');
  expect(runText(run)).toBe('1,200 approved, 1 waiting for a plan, 0 stopped');
});

test.each([
  [1, null, '1 host fetched nothing of what was approved in the last window: it waits for the next one.'],
  [3, null, '3 hosts fetched nothing of what was approved in the last window: they wait for the next one.'],
  [
    3,
    '2026-11-25T09:55:00Z',
    '3 hosts fetched nothing of what was approved in the last window: they are caught up.',
  ],
])('%i hosts that missed a window, caught up until %s', (hosts, until, text) => {
  expect(missedText({ hosts, catch_up_until: until })).toBe(text);
});
