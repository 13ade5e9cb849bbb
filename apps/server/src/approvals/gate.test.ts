import type { Ecosystem } from '@tidegate/protocol/scalars';
import { describe, expect, test } from 'vitest';
import type { ClosureFacts, Finding, UncheckedReason } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, GatePolicy, UpdateFacts } from './gate-facts.ts';
import { NO_REGISTRY, type RegistryFacts } from './registry-rules.ts';
import type { Verdict } from './verdict.ts';

const finding: Finding = {
  package: 'x',
  version: '1',
  id: 'CVE-1',
  aliases: [],
  severity: 'low',
  summary: '',
  fixedIn: null,
  inClosure: 'dependency',
  change: 'still_present',
  malicious: false,
};

function closure(
  findings: Partial<Finding>[],
  unchecked: UncheckedReason | null,
  missing = { after: 0, before: 0 },
): ClosureFacts {
  const none = unchecked ? 'unchecked' : 'clear';
  return {
    verdict: findings.length > 0 ? 'vulnerable' : none,
    unchecked,
    findings: findings.map((fields) => ({ ...finding, ...fields })),
    fixed: [],
    missing,
    checkedAtMs: 1,
    source: 'api',
    snapshot: null,
  };
}

const CLOSURES = {
  clear: closure([], null),
  'still present': closure([{}], null),
  introduced: closure([{ change: 'introduced' }], null),
  malicious: closure([{ malicious: true }], null),
  unreachable: closure([], 'unreachable'),
  undecidable: closure([], 'undecidable'),
  uncovered: closure([], 'uncovered'),
  'both vulnerable and unreachable': closure([{}], 'unreachable'),
  'clear, its present unchecked': closure([], null, { after: 0, before: 1 }),
  'not asked yet': closure([], 'unreachable', { after: 1, before: 0 }),
} as const;
type ClosureName = keyof typeof CLOSURES;

function age(ages: readonly (number | null)[], pending = false): AgeFacts {
  const violations = ages.map((ageHours) => ({
    package: 'x',
    version: '1',
    publishedAtMs: ageHours === null ? null : 0,
    ageHours,
  }));
  return {
    status: ages.length > 0 ? 'violation' : 'ok',
    minimumHours: 72,
    violations,
    times: [],
    excepted: [],
    pending,
  };
}

const AGES = {
  old: age([]),
  young: age([5]),
  unknown: age([null]),
  'young and unknown': age([null, 5]),
  pending: age([], true),
  'young, the rest pending': age([5], true),
} as const;
type AgeName = keyof typeof AGES;

const DIVERGING: BoundDivergence = {
  divergenceId: 'd',
  package: 'x',
  version: '1',
  algorithm: 'sha256',
  hash: 'a'.repeat(64),
};

const CONTRADICTED: RegistryFacts = {
  contradicted: [
    { package: 'x', version: '1', algorithm: 'sha512', hash: 'b'.repeat(128), source: 'registry' },
  ],
  pending: false,
};

interface Case {
  ecosystem?: Ecosystem;
  closure?: ClosureName;
  by?: ApprovalRequest['by'];
  override?: boolean;
  reason?: string | null;
  ageMode?: GatePolicy['ageMode'];
  age?: AgeName;
  vulnerabilities?: GatePolicy['vulnerabilities'];
  uncovered?: GatePolicy['uncovered'];
  unchecked?: GatePolicy['unchecked'];
  advisories?: UpdateFacts['advisories'];
  planKnown?: boolean;
  diverges?: boolean;
  registry?: 'contradicts' | 'pending';
}

function outcome(c: Case): Verdict {
  const { ecosystem = 'apt', ageMode = 'warn', vulnerabilities = 'any' } = c;
  const { uncovered = 'block', unchecked = 'warn' } = c;
  const judged = {
    closure: CLOSURES[c.closure ?? 'clear'],
    age: AGES[c.age ?? 'old'],
    divergences: c.diverges ? [DIVERGING] : [],
    registry:
      c.registry === 'contradicts' ? CONTRADICTED : { ...NO_REGISTRY, pending: c.registry === 'pending' },
  };
  const facts: UpdateFacts = {
    ecosystem,
    judged: (c.planKnown ?? true) ? judged : null,
    advisories: c.advisories ?? 'judged',
  };
  const request: ApprovalRequest = {
    by: c.by ?? 'operator',
    override: c.override ?? false,
    overrideReason: c.reason === undefined ? 'needed tonight' : c.reason,
  };
  return judge(facts, { ageMode, vulnerabilities, uncovered, unchecked, unimportant: 'pass' }, request);
}

function text(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'blocked':
      return `${verdict.stop.by}: ${verdict.stop.reason}${verdict.overridable ? ', overridable' : ''}`;
    case 'mint':
      return verdict.override ? `minted over ${verdict.override.stop.by}` : 'minted';
    case 'override_reason_required':
    case 'plan_required':
    case 'plan_unknown':
    case 'verdict_pending':
      return verdict.kind;
  }
}

const DIVERGES = 'divergence: artifact_divergence';

describe('an artifact that its registry does not have', () => {
  test.each<Case>([
    {},
    { override: true },
    { by: 'sweep' },
    { ageMode: 'off' },
    { ageMode: 'warn', age: 'old' },
    { ageMode: 'block', age: 'young', override: true },
    { ageMode: 'block', age: 'pending' },
    { closure: 'introduced', override: true },
    { advisories: 'pending', closure: 'not asked yet' },
  ])('blocks in every mode and for every request, and no override passes it: %j', (c) => {
    const stopped = text(outcome({ ecosystem: 'npm', ...c, registry: 'contradicts' }));
    expect(stopped).toBe('registry: artifact_unknown_to_registry');
  });

  test.each(['block', 'warn', 'off'] as const)(
    'waits for a registry that has not answered, also in %s, not for a failed one',
    (ageMode) => {
      const asked: Case = { ecosystem: 'pypi', ageMode };
      expect(text(outcome({ ...asked, registry: 'pending' }))).toBe('verdict_pending');
      expect(text(outcome({ ...asked, registry: 'pending', override: true }))).toBe('verdict_pending');
      expect(text(outcome(asked))).toBe('minted');
    },
  );
});

describe('an artifact that diverges', () => {
  test.each<Case>([
    {},
    { override: true },
    { by: 'sweep' },
    { closure: 'introduced', override: true },
    { closure: 'unreachable', override: true },
    { age: 'young', ageMode: 'block' },
    { age: 'pending', ageMode: 'block' },
    { advisories: 'pending', closure: 'not asked yet' },
    { ecosystem: 'npm', ageMode: 'off', vulnerabilities: 'introduced', uncovered: 'warn' },
  ])('blocks everyone, before the age (A7), and no override passes it (A3 is for A1 and A2): %j', (c) => {
    expect(text(outcome({ ...c, diverges: true }))).toBe(DIVERGES);
  });

  test('A3 and reading 5 come first: an override without a reason, and an unknown plan', () => {
    const diverging: Case = { diverges: true, override: true };
    expect(text(outcome({ ...diverging, reason: ' ' }))).toBe('override_reason_required');
    expect(text(outcome({ ...diverging, planKnown: false }))).toBe('plan_required');
  });
});

const VULNERABLE = 'vulnerability: known_vulnerability, overridable';
const SWEPT = 'vulnerability: known_vulnerability';

describe('the gate', () => {
  test.each<[string, Case, string]>([
    ['A1', { closure: 'clear' }, 'minted'],
    ['A1: wherever in the closure', { closure: 'still present' }, VULNERABLE],
    ['A1: new with the update', { closure: 'introduced' }, VULNERABLE],
    ['A1 in npm', { ecosystem: 'npm', closure: 'still present' }, VULNERABLE],
    ['A1 in PyPI', { ecosystem: 'pypi', closure: 'introduced' }, VULNERABLE],
    ['A1 in dnf', { ecosystem: 'dnf', closure: 'introduced' }, VULNERABLE],
    ['A1 beside unchecked', { closure: 'both vulnerable and unreachable' }, VULNERABLE],
    ['A1 with an unreachable source', { closure: 'still present', advisories: 'unreachable' }, VULNERABLE],
    ['A2 apt', { closure: 'unreachable' }, 'unchecked: unreachable, overridable'],
    ['A2 dnf', { ecosystem: 'dnf', closure: 'unreachable' }, 'unchecked: unreachable, overridable'],
    ['A2 names apt and dnf only: npm', { ecosystem: 'npm', closure: 'unreachable' }, 'minted'],
    ['A2 names apt and dnf only: PyPI', { ecosystem: 'pypi', closure: 'undecidable' }, 'minted'],
    ['A2 undecidable', { closure: 'undecidable' }, 'unchecked: undecidable, overridable'],
    ['A2 uncovered', { closure: 'uncovered' }, 'unchecked: uncovered, overridable'],
    ['reading 5: uncovered as a warning', { closure: 'uncovered', uncovered: 'warn' }, 'minted'],
    [
      'reading 5: the warning is for uncovered alone',
      { closure: 'unreachable', uncovered: 'warn' },
      'unchecked: unreachable, overridable',
    ],
    [
      'unchecked: block stops npm',
      { ecosystem: 'npm', closure: 'unreachable', unchecked: 'block' },
      'unchecked: unreachable, overridable',
    ],
    [
      'unchecked: block stops PyPI',
      { ecosystem: 'pypi', closure: 'undecidable', unchecked: 'block' },
      'unchecked: undecidable, overridable',
    ],
    [
      'unchecked: block is stronger than uncovered: warn',
      { closure: 'uncovered', uncovered: 'warn', unchecked: 'block' },
      'unchecked: uncovered, overridable',
    ],
    [
      'unchecked: block stops what the policy of reading 4 excuses',
      {
        ...{ ecosystem: 'npm', closure: 'both vulnerable and unreachable' },
        ...{ vulnerabilities: 'introduced', unchecked: 'block' },
      },
      'unchecked: unreachable, overridable',
    ],
    [
      'unchecked: block is passed by an override (A3)',
      { ecosystem: 'npm', closure: 'unreachable', unchecked: 'block', override: true },
      'minted over unchecked',
    ],
    [
      'unchecked: block lets a checked closure pass',
      { ecosystem: 'npm', closure: 'clear', unchecked: 'block' },
      'minted',
    ],
    [
      'unchecked: block does not ask for the present versions',
      { ecosystem: 'npm', closure: 'clear, its present unchecked', unchecked: 'block' },
      'minted',
    ],
    [
      'unchecked: block still waits for a closure that is not judged yet',
      { ecosystem: 'pypi', closure: 'not asked yet', advisories: 'pending', unchecked: 'block' },
      'verdict_pending',
    ],
    ['A3 over A1', { closure: 'introduced', override: true }, 'minted over vulnerability'],
    ['A3 over A2', { closure: 'unreachable', override: true }, 'minted over unchecked'],
    ['A3 over a malicious package', { closure: 'malicious', override: true }, 'minted over vulnerability'],
    ['A3 where nothing blocks', { override: true }, 'minted'],
    ['A3 without a reason', { override: true, reason: null }, 'override_reason_required'],
    ['A3 with an empty reason', { override: true, reason: '' }, 'override_reason_required'],
    ['A3 with a blank reason', { override: true, reason: ' \n\u00a0\u200b' }, 'override_reason_required'],
    ['A3: a reason alone is no override', { closure: 'introduced', reason: 'please' }, VULNERABLE],
    ['A7 block', { ecosystem: 'npm', ageMode: 'block', age: 'young' }, 'age: too_young'],
    ['A7 block, unknown', { ecosystem: 'pypi', ageMode: 'block', age: 'unknown' }, 'age: unknown_age'],
    ['A7 block, both', { ecosystem: 'npm', ageMode: 'block', age: 'young and unknown' }, 'age: too_young'],
    ['A7 warn', { ecosystem: 'npm', age: 'young' }, 'minted'],
    ['A7 off', { ecosystem: 'npm', ageMode: 'off', age: 'young' }, 'minted'],
    ['A7 block, old enough', { ecosystem: 'npm', ageMode: 'block' }, 'minted'],
    [
      'A7 comes before the vulnerability gate',
      { ecosystem: 'npm', ageMode: 'block', age: 'young', closure: 'introduced' },
      'age: too_young',
    ],
    [
      'A7 is not passed by an override (reading 1)',
      { ecosystem: 'npm', ageMode: 'block', age: 'young', closure: 'introduced', override: true },
      'age: too_young',
    ],
    [
      'A7 is not passed by an override of nothing',
      { ecosystem: 'npm', ageMode: 'block', age: 'unknown', override: true },
      'age: unknown_age',
    ],
    ['A7 block, times pending', { ecosystem: 'npm', ageMode: 'block', age: 'pending' }, 'verdict_pending'],
    [
      'A7 block, one known to be young',
      { ecosystem: 'npm', ageMode: 'block', age: 'young, the rest pending' },
      'age: too_young',
    ],
    ['A7 warn, times pending', { ecosystem: 'npm', age: 'pending' }, 'minted'],
    [
      'A7 comes before a closure that is not judged yet',
      { ecosystem: 'npm', ageMode: 'block', age: 'young', closure: 'not asked yet', advisories: 'pending' },
      'age: too_young',
    ],
    ['A8 clear', { by: 'sweep' }, 'minted'],
    ['A8 vulnerable', { by: 'sweep', closure: 'still present' }, SWEPT],
    ['A8 unchecked apt', { by: 'sweep', closure: 'unreachable' }, 'unchecked: unreachable'],
    ['A8 unchecked npm', { by: 'sweep', ecosystem: 'npm', closure: 'unreachable' }, 'unchecked: unreachable'],
    ['A8 unchecked PyPI', { by: 'sweep', ecosystem: 'pypi', closure: 'uncovered' }, 'unchecked: uncovered'],
    [
      'A8 whatever uncovered is for operators',
      { by: 'sweep', closure: 'uncovered', uncovered: 'warn' },
      'unchecked: uncovered',
    ],
    [
      'A8 whatever the policy of reading 4 is',
      { by: 'sweep', closure: 'still present', vulnerabilities: 'introduced' },
      SWEPT,
    ],
    ['A8: a sweep has no override', { by: 'sweep', closure: 'introduced', override: true }, SWEPT],
    ['A8 and A7', { by: 'sweep', ecosystem: 'npm', ageMode: 'block', age: 'young' }, 'age: too_young'],
    ['reading 4: any', { closure: 'still present', vulnerabilities: 'any' }, VULNERABLE],
    ['reading 4: still present', { closure: 'still present', vulnerabilities: 'introduced' }, 'minted'],
    ['reading 4: introduced', { closure: 'introduced', vulnerabilities: 'introduced' }, VULNERABLE],
    ['reading 4: malicious', { closure: 'malicious', vulnerabilities: 'introduced' }, VULNERABLE],
    [
      'reading 4: excused, but not all was checked',
      { closure: 'both vulnerable and unreachable', vulnerabilities: 'introduced' },
      'unchecked: unreachable, overridable',
    ],
    ['reading 5: no plan', { planKnown: false }, 'plan_unknown'],
    ['reading 5: an override of no plan', { planKnown: false, override: true }, 'plan_required'],
    ['reading 5: not judged yet', { closure: 'not asked yet', advisories: 'pending' }, 'verdict_pending'],
    [
      'reading 5: not judged yet, npm',
      { ecosystem: 'npm', closure: 'not asked yet', advisories: 'pending' },
      'verdict_pending',
    ],
    [
      'reading 5: an override of what is not judged yet',
      { closure: 'not asked yet', advisories: 'pending', override: true },
      'verdict_pending',
    ],
    [
      'reading 5: the source is down',
      { closure: 'not asked yet', advisories: 'unreachable' },
      'unchecked: unreachable, overridable',
    ],
    [
      'the present is for comparison only',
      { closure: 'clear, its present unchecked', advisories: 'pending' },
      'minted',
    ],
    [
      'the present decides where it can excuse',
      { closure: 'clear, its present unchecked', advisories: 'pending', vulnerabilities: 'introduced' },
      'verdict_pending',
    ],
  ])('%s: %j is %s', (_rule, given, expected) => {
    expect(text(outcome(given))).toBe(expected);
  });

  test.each<[Case, readonly string[]]>([
    [{ override: true }, ['override_not_needed']],
    [{ ecosystem: 'npm', closure: 'unreachable' }, ['closure_unchecked']],
    [
      { ecosystem: 'npm', closure: 'unreachable', override: true },
      ['override_not_needed', 'closure_unchecked'],
    ],
    [{ closure: 'uncovered', uncovered: 'warn' }, ['distribution_uncovered']],
    [{ ecosystem: 'npm', age: 'young' }, ['age_violation']],
    [{ ecosystem: 'npm', age: 'young', ageMode: 'off' }, []],
    [{ closure: 'introduced', override: true }, []],
    [{}, []],
  ])('%j warns %j', (given, warnings) => {
    const verdict = outcome(given);
    expect(verdict.kind === 'mint' && verdict.warnings).toEqual(warnings);
  });
});

const UNKNOWNS = [
  ['block', 'block'],
  ['block', 'warn'],
  ['warn', 'block'],
  ['warn', 'warn'],
] as const;

describe('the gate in every combination', () => {
  const all: Required<Omit<Case, 'registry'>>[] = [];
  const closures = Object.keys(CLOSURES).filter((name): name is ClosureName => name in CLOSURES);
  const ages = Object.keys(AGES).filter((name): name is AgeName => name in AGES);
  for (const ecosystem of ['npm', 'pypi', 'apt', 'dnf'] as const)
    for (const closureName of closures)
      for (const ageName of ages)
        for (const by of ['operator', 'sweep'] as const)
          for (const ageMode of ['block', 'warn', 'off'] as const)
            for (const vulnerabilities of ['any', 'introduced'] as const)
              for (const [uncovered, unchecked] of UNKNOWNS)
                for (const advisories of ['judged', 'pending', 'unreachable'] as const)
                  for (const override of [false, true])
                    all.push({
                      ecosystem,
                      closure: closureName,
                      age: ageName,
                      by,
                      ageMode,
                      vulnerabilities,
                      uncovered,
                      unchecked,
                      advisories,
                      override,
                      reason: 'because',
                      planKnown: true,
                      diverges: false,
                    });

  /** Every case that mints; the properties state what must hold for it. */
  const minted = all.flatMap((given) => {
    const verdict = outcome(given);
    return verdict.kind === 'mint' ? [{ given, verdict, facts: CLOSURES[given.closure] }] : [];
  });

  test('every combination is generated', () => {
    expect(all).toHaveLength(4 * 10 * 6 * 2 * 3 * 2 * 4 * 3 * 2);
    expect(minted.length).toBeGreaterThan(1_000);
    expect(minted.length).toBeLessThan(all.length / 2);
  });

  test('A7: nothing is minted in block mode over an age violation or a pending age', () => {
    for (const { given } of minted) {
      if (given.ageMode === 'block') expect(given.age).toBe('old');
    }
  });

  test('A8: the sweep mints a clear closure and nothing else', () => {
    for (const { given, facts, verdict } of minted.filter(({ given: { by } }) => by === 'sweep')) {
      expect([facts.verdict, facts.unchecked, verdict.override], JSON.stringify(given)).toEqual([
        'clear',
        null,
        null,
      ]);
    }
  });

  test('A1, A3: without an override no vulnerable closure is minted, except what the policy excuses', () => {
    for (const { given, facts, verdict } of minted.filter(({ verdict: { override } }) => override === null)) {
      if (facts.verdict !== 'vulnerable') continue;
      expect(given.vulnerabilities, JSON.stringify(given)).toBe('introduced');
      expect(facts.findings.every(({ change, malicious }) => change === 'still_present' && !malicious)).toBe(
        true,
      );
      expect(verdict.override).toBeNull();
    }
  });

  test('A2, A3: without an override no unchecked closure of apt or dnf is minted, except an uncovered one', () => {
    for (const { given, facts, verdict } of minted) {
      if (verdict.override !== null || facts.unchecked === null) continue;
      if (given.ecosystem !== 'apt' && given.ecosystem !== 'dnf') continue;
      expect([facts.unchecked, given.uncovered], JSON.stringify(given)).toEqual(['uncovered', 'warn']);
    }
  });

  test('under unchecked: block nothing unchecked is minted without an override, in any ecosystem', () => {
    const strict = minted.filter(({ given }) => given.unchecked === 'block' && !given.override);
    expect(strict.length).toBeGreaterThan(500);
    for (const { given, facts } of strict) expect(facts.unchecked, JSON.stringify(given)).toBeNull();
  });

  test('A3: an override is needed exactly where the same request without it is blocked', () => {
    for (const { given, verdict } of minted.filter(({ given: { override } }) => override)) {
      const without = outcome({ ...given, override: false });
      expect(without.kind).toBe(verdict.override ? 'blocked' : 'mint');
      const passed = without.kind === 'blocked' ? { stop: without.stop, reason: 'because' } : null;
      expect(verdict.override).toEqual(passed);
      expect(verdict.warnings.includes('override_not_needed')).toBe(verdict.override === null);
    }
  });

  test('reading 5: nothing is minted over an unfinished judgement', () => {
    for (const { given, facts } of minted) {
      if (given.advisories === 'pending') expect(facts.missing.after).toBe(0);
    }
  });

  test('a block is overridable exactly where the override mints', () => {
    for (const given of all.filter(({ override }) => !override)) {
      const verdict = outcome(given);
      if (verdict.kind !== 'blocked') continue;
      expect(outcome({ ...given, override: true }).kind === 'mint', JSON.stringify(given)).toBe(
        verdict.overridable,
      );
    }
  });
});
