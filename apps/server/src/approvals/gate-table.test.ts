import type { Ecosystem } from '@tidegate/protocol/scalars';
import { describe, expect, test } from 'vitest';
import type { ClosureFacts, UncheckedReason } from '../advisories/closure-facts.ts';
import type { AgeFacts } from './age-rules.ts';
import { judge, stoppedUnder } from './gate.ts';
import type { GatePolicy, UpdateFacts } from './gate-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';
import type { Verdict } from './verdict.ts';

/** One cell of the table: every fact, every setting and every kind of request, in words. */
interface Cell {
  readonly ecosystem: Ecosystem;
  readonly closure: keyof typeof CLOSURES;
  readonly advisories: UpdateFacts['advisories'];
  readonly actor: 'operator' | 'sweep';
  readonly override: keyof typeof OVERRIDES;
  readonly ageMode: 'block' | 'warn' | 'off';
  readonly age: keyof typeof AGES;
  readonly policy: 'any' | 'introduced';
  readonly uncovered: 'block' | 'warn';
  readonly unchecked: 'block' | 'warn';
  readonly marked: 'nothing' | 'divergent' | 'on hold';
}

interface ClosureWords {
  readonly known: readonly ('introduced' | 'still present' | 'malicious, still present')[];
  readonly unchecked?: UncheckedReason;
  /** Versions not judged yet: those of the plan, or those that they replace. */
  readonly unjudged?: 'after' | 'before';
}

const CLOSURES = {
  clear: { known: [] },
  'vulnerable, introduced': { known: ['introduced'] },
  'vulnerable, still present': { known: ['still present'] },
  'vulnerable, both': { known: ['still present', 'introduced'] },
  malicious: { known: ['malicious, still present'] },
  unreachable: { known: [], unchecked: 'unreachable' },
  undecidable: { known: [], unchecked: 'undecidable' },
  uncovered: { known: [], unchecked: 'uncovered' },
  'introduced and unreachable': { known: ['introduced'], unchecked: 'unreachable' },
  'still present and unreachable': { known: ['still present'], unchecked: 'unreachable' },
  'still present and undecidable': { known: ['still present'], unchecked: 'undecidable' },
  'still present and uncovered': { known: ['still present'], unchecked: 'uncovered' },
  'not judged': { known: [], unchecked: 'unreachable', unjudged: 'after' },
  'introduced, the rest not judged': { known: ['introduced'], unchecked: 'unreachable', unjudged: 'after' },
  'still present, what is replaced not judged': { known: ['still present'], unjudged: 'before' },
} as const satisfies Record<string, ClosureWords>;

const AGES = {
  'old enough': { hours: [], isPending: false },
  'too young': { hours: [71.9], isPending: false },
  unknown: { hours: [null], isPending: false },
  'unknown and too young': { hours: [null, 0], isPending: false },
  'asked for': { hours: [], isPending: true },
  'too young, others asked for': { hours: [1], isPending: true },
  'not applicable': { hours: [], isPending: false },
} as const;

const OVERRIDES = { none: null, 'with a reason': 'we looked at it', 'with a blank reason': ' \n ' } as const;

/** The rules in order; the first that applies decides. Written from the specification, not from gate.ts. */
const RULES: readonly { id: string; says: (cell: Cell, closure: ClosureWords) => string | null }[] = [
  {
    id: 'A3: the reason is required',
    says: ({ override }) => (override === 'with a blank reason' ? 'override_reason_required' : null),
  },
  {
    id: 'one version with two hashes: blocked until an operator decides, and no override passes it',
    says: ({ marked }) => (marked === 'divergent' ? 'blocked, divergence: artifact_divergence' : null),
  },
  {
    id: 'a package on hold: blocked until the hold ends, and no override passes it',
    says: ({ marked }) => (marked === 'on hold' ? 'blocked, hold: held' : null),
  },
  {
    id: 'A7: in block an age violation is a separate stop before the vulnerability gate, and A3 does not pass it (reading 1)',
    says({ ageMode, age }) {
      if (ageMode !== 'block') return null;
      if (age === 'unknown') return 'blocked, age: unknown_age';
      return age.includes('too young') ? 'blocked, age: too_young' : null;
    },
  },
  {
    id: 'reading 5: in block, wait for release times that are being fetched',
    says: ({ ageMode, age }) => (ageMode === 'block' && age === 'asked for' ? 'verdict_pending' : null),
  },
  {
    id: 'reading 5: wait for a closure that is not judged yet, unless the source is down',
    says({ advisories, policy }, { unjudged }) {
      if (advisories !== 'pending' || unjudged === undefined) return null;
      // The present versions count only if they can excuse a vulnerability (reading 4).
      return unjudged === 'after' || policy === 'introduced' ? 'verdict_pending' : null;
    },
  },
  {
    id: 'A8: the sweep never mints for a vulnerable or unchecked closure, in any ecosystem and under any policy',
    says({ actor }, { known, unchecked }) {
      if (actor !== 'sweep') return null;
      if (known.length > 0) return 'blocked, vulnerability: known_vulnerability';
      return unchecked === undefined ? null : `blocked, unchecked: ${unchecked}`;
    },
  },
  {
    id: 'A1: a known vulnerability anywhere blocks; under introduced, reading 4 excuses present ones except malware',
    says({ policy, override }, { known }) {
      const counted = known.filter((one) => policy === 'any' || one !== 'still present');
      return counted.length === 0 ? null : humanStop('vulnerability: known_vulnerability', override);
    },
  },
  {
    id: 'the setting unchecked: block: an unchecked closure blocks in every ecosystem, for whatever reason',
    says({ override, unchecked: policy }, { unchecked }) {
      if (unchecked === undefined || policy === 'warn') return null;
      return humanStop(`unchecked: ${unchecked}`, override);
    },
  },
  {
    id: 'A2: an unchecked closure blocks apt and dnf; reading 5 allows a warning for uncovered',
    says({ ecosystem, override, uncovered }, { unchecked }) {
      if (unchecked === undefined || ecosystem === 'npm' || ecosystem === 'pypi') return null;
      if (unchecked === 'uncovered' && uncovered === 'warn') return null;
      return humanStop(`unchecked: ${unchecked}`, override);
    },
  },
  { id: 'nothing blocks: mint', says: () => 'minted' },
];

/** A3: what blocks an operator, an operator with a reason passes. */
function humanStop(stop: string, override: Cell['override']): string {
  return override === 'with a reason' ? `minted over ${stop}` : `blocked, overridable, ${stop}`;
}

/** Warnings of a minted token: everything that was let pass is reported. */
function warningsOf(
  { ecosystem, override, ageMode, age }: Cell,
  { unchecked }: ClosureWords,
  decision: string,
): string[] {
  const isSystem = ecosystem === 'apt' || ecosystem === 'dnf';
  const isViolated = age !== 'old enough' && age !== 'asked for' && age !== 'not applicable';
  return [
    ...(decision === 'minted' && override === 'with a reason' ? ['override_not_needed'] : []),
    ...(unchecked === undefined
      ? []
      : [unchecked === 'uncovered' && isSystem ? 'distribution_uncovered' : 'closure_unchecked']),
    ...(ageMode === 'warn' && isViolated ? ['age_violation'] : []),
  ];
}

function expected(cell: Cell): { rule: string; outcome: string } {
  const closure: ClosureWords = CLOSURES[cell.closure];
  for (const { id, says } of RULES) {
    const decision = says(cell, closure);
    if (decision === null) continue;
    const warnings = decision.startsWith('minted') ? warningsOf(cell, closure, decision) : [];
    return { rule: id, outcome: [decision, ...warnings].join('; ') };
  }
  throw new Error('the last rule always applies');
}

function actual(cell: Cell): string {
  const { actor, ageMode, policy, uncovered, unchecked } = cell;
  const verdict = judge(
    factsOf(cell),
    { ageMode, vulnerabilities: policy, uncovered, unchecked, unimportant: 'pass' },
    { by: actor, override: cell.override !== 'none', overrideReason: OVERRIDES[cell.override] },
  );
  return wordsOf(verdict);
}

function wordsOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'mint': {
      const { override, warnings } = verdict;
      return [
        `minted${override ? ` over ${override.stop.by}: ${override.stop.reason}` : ''}`,
        ...warnings,
      ].join('; ');
    }
    case 'blocked':
      return `blocked${verdict.overridable ? ', overridable' : ''}, ${verdict.stop.by}: ${verdict.stop.reason}`;
    case 'override_reason_required':
    case 'plan_unknown':
    case 'plan_required':
    case 'verdict_pending':
      return verdict.kind;
  }
}

function factsOf({ ecosystem, closure, advisories, age, marked }: Cell): UpdateFacts {
  const divergence = {
    divergenceId: '1',
    package: 'x',
    version: '2',
    algorithm: 'sha256' as const,
    hash: 'a'.repeat(64),
  };
  return {
    ecosystem,
    judged: {
      closure: closureOf(CLOSURES[closure]),
      age: ageOf(age),
      divergences: marked === 'divergent' ? [divergence] : [],
      registry: NO_REGISTRY,
      held: marked === 'on hold' ? [HELD] : [],
    },
    advisories,
  };
}

function closureOf({ known, unchecked, unjudged }: ClosureWords): ClosureFacts {
  const findings = known.map((words, at) => ({
    package: 'x',
    version: '2',
    id: `CVE-${at}`,
    aliases: [],
    severity: null,
    summary: '',
    fixedIn: null,
    inClosure: 'dependency' as const,
    change: words === 'introduced' ? ('introduced' as const) : ('still_present' as const),
    malicious: words === 'malicious, still present',
  }));
  return {
    verdict: known.length > 0 ? 'vulnerable' : unchecked ? 'unchecked' : 'clear',
    unchecked: unchecked ?? null,
    findings,
    fixed: [],
    missing: { after: unjudged === 'after' ? 1 : 0, before: unjudged === 'before' ? 1 : 0 },
    checkedAtMs: 0,
    source: 'api',
    snapshot: null,
  };
}

function ageOf(words: Cell['age']): AgeFacts {
  const { hours, isPending } = AGES[words];
  const violations = hours.map((ageHours) => ({
    package: 'x',
    version: '2',
    publishedAtMs: ageHours === null ? null : 0,
    ageHours,
  }));
  const status = words === 'not applicable' ? 'not_applicable' : violations.length > 0 ? 'violation' : 'ok';
  return { status, minimumHours: 72, times: [], violations, excepted: [], pending: isPending };
}

const HELD = { package: 'x', version: '2', holdId: '1', reason: 'r', endsAtMs: 1 };
const PASSING: GatePolicy = {
  ...{ ageMode: 'off', vulnerabilities: 'any', uncovered: 'warn', unchecked: 'warn', unimportant: 'pass' },
};

const ECOSYSTEMS = ['npm', 'pypi', 'apt', 'dnf'] as const;

function cellsOf(ecosystem: Ecosystem, actor: Cell['actor']): Cell[] {
  const isAged = ecosystem === 'npm' || ecosystem === 'pypi';
  const ages = keysOf(AGES).filter((age) => (age === 'not applicable') !== isAged);
  let cells: Cell[] = keysOf(CLOSURES).map((closure) => ({
    ecosystem,
    actor,
    closure,
    advisories: 'judged',
    override: 'none',
    ageMode: 'warn',
    age: 'old enough',
    policy: 'any',
    uncovered: 'block',
    unchecked: 'warn',
    marked: 'nothing',
  }));
  cells = cells.flatMap((cell) =>
    (['judged', 'pending', 'unreachable'] as const).map((advisories) => ({ ...cell, advisories })),
  );
  cells = cells.flatMap((cell) => keysOf(OVERRIDES).map((override) => ({ ...cell, override })));
  cells = cells.flatMap((cell) =>
    (['block', 'warn', 'off'] as const).map((ageMode) => ({ ...cell, ageMode })),
  );
  cells = cells.flatMap((cell) => ages.map((age) => ({ ...cell, age })));
  cells = cells.flatMap((cell) => (['any', 'introduced'] as const).map((policy) => ({ ...cell, policy })));
  cells = cells.flatMap((cell) => (['block', 'warn'] as const).map((uncovered) => ({ ...cell, uncovered })));
  cells = cells.flatMap((cell) => (['block', 'warn'] as const).map((unchecked) => ({ ...cell, unchecked })));
  return cells.flatMap((cell) =>
    (['nothing', 'divergent', 'on hold'] as const).map((marked) => ({ ...cell, marked })),
  );
}

function keysOf<Key extends string>(of: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(of).filter((key): key is Key => Object.hasOwn(of, key));
}

describe('the gate, cell by cell', () => {
  const decidedBy = new Map<string, number>();

  describe.each(ECOSYSTEMS)('%s', (ecosystem) => {
    test.each(['operator', 'sweep'] as const)(
      'asked by the %s: every closure, override, age and setting ends as A1 to A3, A7, A8 and the readings require',
      (actor) => {
        const wrong: string[] = [];
        for (const cell of cellsOf(ecosystem, actor)) {
          const { rule, outcome } = expected(cell);
          decidedBy.set(rule, (decidedBy.get(rule) ?? 0) + 1);
          const got = actual(cell);
          if (got !== outcome) wrong.push(`${JSON.stringify(cell)} is "${got}", but ${rule}: "${outcome}"`);
        }
        expect(wrong.slice(0, 5), `${wrong.length} cells`).toEqual([]);
      },
    );
  });

  test.each(keysOf(CLOSURES).flatMap((closure) => ECOSYSTEMS.map((ecosystem) => ({ closure, ecosystem }))))(
    '$ecosystem, $closure: the policies that stop it are those under which a vulnerability blocks',
    (of) => {
      const cells = cellsOf(of.ecosystem, 'operator').filter(
        ({ closure, ageMode, override, advisories, marked }) =>
          closure === of.closure &&
          ageMode === 'off' &&
          override === 'none' &&
          advisories === 'judged' &&
          marked === 'nothing',
      );
      const blocks = (policy: Cell['policy']) =>
        cells
          .filter((cell) => cell.policy === policy)
          .every((cell) => actual(cell).includes('known_vulnerability'));
      const stopped = blocks('introduced') ? 'introduced' : blocks('any') ? 'any' : 'neither';
      expect(stoppedUnder(closureOf(CLOSURES[of.closure]), PASSING)).toBe(stopped);
    },
  );

  test('every rule decides cells, 272,160 in all', () => {
    expect(RULES.filter(({ id }) => (decidedBy.get(id) ?? 0) < 100).map(({ id }) => id)).toEqual([]);
    expect([...decidedBy.values()].reduce((sum, count) => sum + count, 0)).toBe(272_160);
  });

  test.each([
    ['none', 'plan_unknown'],
    ['with a reason', 'plan_required'],
    ['with a blank reason', 'override_reason_required'],
  ] as const)(
    'reading 5: without a plan there is nothing to judge; an override %s is %s',
    (override, outcome) => {
      const overriding = { override: override !== 'none', overrideReason: OVERRIDES[override] };
      for (const ecosystem of ECOSYSTEMS) {
        for (const by of ['operator', 'sweep'] as const) {
          for (const ageMode of ['block', 'warn', 'off'] as const) {
            const going = {
              vulnerabilities: 'introduced',
              uncovered: 'warn',
              unchecked: 'warn',
              unimportant: 'pass',
            } as const;
            const policy = { ageMode, ...going };
            const verdict = judge({ ecosystem, judged: null, advisories: 'judged' }, policy, {
              by,
              ...overriding,
            });
            expect(wordsOf(verdict), `${ecosystem}, ${by}, ${ageMode}`).toBe(outcome);
          }
        }
      }
    },
  );
});
