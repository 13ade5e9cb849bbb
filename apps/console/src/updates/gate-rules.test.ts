import type { GateFinding, GateReport } from '@tidegate/protocol/approvals-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { expect, test } from 'vitest';
import { approveLabel, type Check, checklistOf, uncheckedNotice } from './gate-rules.ts';

const CLEAR: GateReport = {
  update_id: 'u',
  package: { ecosystem: 'npm', name: 'left', version: '2.0.0' },
  blocked_by: null,
  overridable: false,
  reason: null,
  ...{ introduces: [], stays: [], fixes: [], fixes_complete: true },
  unchecked: null,
  age: { minimum_hours: 72, violations: [], times: [timeOf('left')] },
  divergences: [],
  unknown_artifacts: [],
  held: [],
  first_seen: [],
  provenance: [],
  origin_changes: [],
  third_party: [],
  verdict: 'clear',
  vulnerability_policy: 'any',
  checked_at: '2026-11-21T10:00:00Z',
  source: 'mirror',
  snapshot: 's1',
};
const FINDING: GateFinding = {
  ...{ package: 'left', version: '2.0.0', id: 'CVE-1', aliases: [], severity: 'high', summary: 'bad' },
  ...{ fixed_in: null, in_closure: 'top', vendor: null, excuse: null },
};
const INSTALL: PlanAction = {
  ...{ action: 'upgrade', name: 'left', from_version: '1.0.0', to_version: '2.0.0' },
  artifact: {
    filename: 'left.tgz',
    url: 'https://r.example/left.tgz',
    size_bytes: 1,
    sha256: 'a'.repeat(64),
  },
};
const PLAN = { actions: [INSTALL] };

function timeOf(name: string) {
  return { package: name, version: '2.0.0', published_at: '2026-01-01T00:00:00Z', source: 'npm' };
}

const violation = (hours: number | null) => ({
  ...{ package: 'left', version: '2.0.0', published_at: null, age_hours: hours },
});
const young = (hours: number | null) => ({
  age: { minimum_hours: 72, violations: [violation(hours)], times: [timeOf('left')] },
});

function stateOf(id: Check['id'], changes: Partial<GateReport>): string | undefined {
  const gate = { ...CLEAR, ...changes };
  return checklistOf({ gate, plan: PLAN, ecosystem: 'npm' }).find((check) => check.id === id)?.state;
}

test.each<[Check['id'], Partial<GateReport>, Check['state']]>([
  ['closure', {}, 'passes'],
  ['closure', { verdict: 'vulnerable', introduces: [FINDING], blocked_by: 'vulnerability' }, 'stops'],
  ['closure', { verdict: 'vulnerable', introduces: [FINDING] }, 'vulnerable'],
  ['closure', { verdict: 'unchecked', blocked_by: 'unchecked', reason: 'unreachable' }, 'stops'],
  ['closure', { verdict: 'unchecked', unchecked: 'unreachable' }, 'unchecked'],
  ['closure', { verdict: 'unchecked' }, 'unchecked'],
  ['closure', { verdict: 'vulnerable', stays: [FINDING], unchecked: 'undecidable' }, 'unchecked'],
  ['age', {}, 'passes'],
  ['age', { ...young(3), blocked_by: 'age', reason: 'too_young' }, 'stops'],
  ['age', young(3), 'found'],
  ['age', young(null), 'unknown'],
  ['age', { age: { minimum_hours: 72, violations: [], times: [] } }, 'unknown'],
  ['age', { age: null }, 'off'],
  ['divergence', {}, 'passes'],
  [
    'divergence',
    {
      divergences: [
        { divergence_id: 'd', package: 'left', version: '2.0.0', algorithm: 'sha256', hash: 'b' },
      ],
    },
    'stops',
  ],
  [
    'registry',
    {
      unknown_artifacts: [
        { package: 'left', version: '2.0.0', algorithm: 'sha512', hash: 'b', source: 'https://r.example' },
      ],
    },
    'stops',
  ],
  [
    'hold',
    {
      held: [
        { package: 'left', version: '2.0.0', hold_id: 'h', reason: 'r', ends_at: '2027-03-01T00:00:00Z' },
      ],
    },
    'stops',
  ],
  ['hashes', {}, 'passes'],
])('%s of %j: %s', (id, changes, state) => {
  expect(stateOf(id, changes)).toBe(state);
});

test('a vulnerability that several packages have counts once, as it does beside their list', () => {
  const several = ['left', 'right'].map((name) => ({ ...FINDING, package: name }));
  const gate: GateReport = {
    ...{ ...CLEAR, verdict: 'vulnerable', introduces: several },
    ...{ stays: [...several, { ...FINDING, id: 'CVE-2' }], fixes: several },
  };
  const evidenceOf = (report: GateReport) =>
    checklistOf({ gate: report, plan: PLAN, ecosystem: 'npm' }).find(({ id }) => id === 'closure')?.evidence;
  expect(evidenceOf(gate)).toBe('Introduces 1, keeps 2 that the host has already; fixes 1.');
  expect(evidenceOf({ ...gate, fixes_complete: false })).toContain('fixes at least 1.');
});

test.each(ECOSYSTEMS)('%s: nothing passes while there is no plan, or no verdict', (ecosystem) => {
  const without = checklistOf({ gate: CLEAR, plan: null, ecosystem });
  expect(without.filter(({ state }) => state === 'passes')).toEqual([]);
  const silent = checklistOf({ gate: null, plan: PLAN, ecosystem });
  expect(silent.filter(({ state }) => state === 'passes').map(({ id }) => id)).toEqual(['hashes']);
});

test('a plan with a file that has no hash does not pass', () => {
  const bare = { actions: [{ ...INSTALL, artifact: { filename: 'a', url: 'b', size_bytes: 1 } }] };
  const checks = checklistOf({ gate: CLEAR, plan: bare, ecosystem: 'npm' });
  expect(checks.find(({ id }) => id === 'hashes')?.state).toBe('stops');
});

test.each<[PlanAction[] | null, string]>([
  [null, 'Approve: asks web-01 for a plan first'],
  [[INSTALL], 'Approve: installs 1 package on web-01'],
  [
    [INSTALL, { ...INSTALL, name: 'b' }, { action: 'remove', name: 'c', from_version: '1' }],
    'Approve: installs 2 packages and removes 1 on web-01',
  ],
])('the approve button states its effect: %#', (actions, label) => {
  expect(approveLabel({ plan: actions && { actions }, hostname: 'web-01' })).toBe(label);
});

test.each<[Partial<GateReport>, string | null]>([
  [{}, null],
  [{ verdict: 'vulnerable', stays: [FINDING] }, null],
  [{ verdict: 'unchecked', unchecked: 'unreachable' }, 'Its packages have not been checked'],
  [{ verdict: 'vulnerable', unchecked: 'undecidable' }, 'Some of its packages have not been checked'],
  // The stop itself is shown in red.
  [{ verdict: 'unchecked', unchecked: 'unreachable', blocked_by: 'unchecked', reason: 'unreachable' }, null],
])('%j is said in red beside the decision, before it and after it: %s', (changes, text) => {
  const gate = { ...CLEAR, ...changes };
  const before = uncheckedNotice({ gate, plan: PLAN, isOpen: true });
  const after = uncheckedNotice({ gate, plan: PLAN, isOpen: false });
  const said = text && `${text} for known vulnerabilities.`;
  expect([before, after]).toEqual([said && `${said} Approving it installs what nobody has checked.`, said]);
  expect(uncheckedNotice({ gate, plan: null, isOpen: true })).toBeNull();
});

test.each<[GateReport['origin_changes'], string | undefined]>([
  [[], undefined],
  [
    [{ package: 'runc', arch: 'amd64', from: 'Debian:12/stable', to: 'Docker CE:bookworm' }],
    'runc comes from Docker CE:bookworm. The host has it from Debian:12/stable. A name from another vendor may be another program.',
  ],
  [
    ['a', 'b', 'c'].map((name) => ({ package: name, arch: null, from: null, to: 'epel' })),
    'a comes from epel. Nobody knows where the version on the host came from. 2 other packages moved too. A name from another vendor may be another program.',
  ],
])('a change of vendor is a line of its own, and never passes: %#', (origin_changes, evidence) => {
  const checks = checklistOf({ gate: { ...CLEAR, origin_changes }, plan: PLAN, ecosystem: 'apt' });
  const line = checks.find(({ id }) => id === 'vendor');
  expect([line?.evidence, line?.state]).toEqual([evidence, evidence && 'found']);
});

test('third-party repositories are a line with rule, reason and end, and never pass', () => {
  const one: GateReport['third_party'][number] = {
    ...{ package: 'docker', version: '2', arch: null, origin: 'Docker CE:bookworm', suites: [], key: 'abc' },
    ...{ standing: 'allowed', first_seen_at: null },
    registration: {
      ...{
        id: 'r',
        rule: 'allow_older_than',
        min_age_days: 7,
        reason: 'ours',
        ends_at: '2026-12-21T00:00:00Z',
      },
    },
  };
  const unknown = {
    ...one,
    origin: 'Evil:x',
    key: null,
    standing: 'key_unknown',
    registration: null,
  } as const;
  const lineOf = (gate: Partial<GateReport>) =>
    checklistOf({ gate: { ...CLEAR, ...gate }, plan: PLAN, ecosystem: 'apt' }).find(
      ({ id }) => id === 'third_party',
    );
  expect(lineOf({})).toBeUndefined();
  const allowed =
    'Docker CE:bookworm, signed by abc, is registered until 2026-12-21 (rule: allow when older than 7 days; reason: ours): it may pass.';
  expect(lineOf({ third_party: [one, one] })).toMatchObject({ state: 'found', evidence: allowed });
  expect(lineOf({ third_party: [one, unknown], blocked_by: 'unchecked' })).toMatchObject({
    state: 'stops',
    evidence: `${allowed} Evil:x: the host does not say which key signed it.`,
  });
  const many = ['a', 'b', 'c', 'd', 'e'].map((origin) => ({ ...unknown, origin }));
  expect(lineOf({ third_party: many })?.evidence).toMatch(/And 2 more origins\.$/);
});
