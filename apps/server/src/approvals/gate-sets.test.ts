import { describe, expect, test } from 'vitest';
import type { ClosureFacts, Finding, Fix, UncheckedReason } from '../advisories/closure-facts.ts';
import type { OriginFact } from '../origins/origin-rules.ts';
import type { StatementFact } from '../vex/statement-rules.ts';
import { type Member, splitFlagged } from './flagged-set-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, GatePolicy, JudgedFacts, UpdateFacts } from './gate-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';

// Ten updates that are approved together, judged by the real gate and split by the real rule until each is minted or
// stopped, as the sweep does it. What the gate knows of a package is said in words.

const TEN = Array.from({ length: 10 }, (_, i) => `p${i}`);
const VERSION = '2';

/** Packages that updates of the ten bring along by their own plans, by package. */
type Along = Readonly<Record<string, readonly string[]>>;

/** What is known of a version: its part of the verdict, and what is said about it. */
const KNOWN = {
  introduces: { change: 'introduced' },
  stays: { change: 'still_present' },
  'introduces malicious code': { change: 'introduced', malicious: true },
  'stays malicious': { change: 'still_present', malicious: true },
  'introduces, exploited': { change: 'introduced', kev: true },
  'stays, exploited': { change: 'still_present', kev: true },
  'introduces, unimportant': { change: 'introduced', vendor: { by: 'debian', status: 'unimportant' } },
  'stays, unimportant': { change: 'still_present', vendor: { by: 'debian', status: 'unimportant' } },
  'stays, unimportant and exploited': {
    ...{ change: 'still_present', kev: true, vendor: { by: 'debian', status: 'unimportant' } },
  },
  'stays, ignored': { change: 'still_present', vendor: { by: 'debian', status: 'ignored' } },
} as const satisfies Record<string, Partial<Finding>>;

interface Scene {
  /** What is known, by package. */
  readonly known?: Readonly<Record<string, keyof typeof KNOWN>>;
  /** Packages of which the set fixes a vulnerability. */
  readonly fixes?: readonly string[];
  readonly along?: Along;
  /** Packages that come only where all these updates are in one transaction. */
  readonly together?: Readonly<Record<string, readonly string[]>>;
  /** Updates without a plan of their own. */
  readonly unplanned?: readonly string[];
  /** Packages that an operator has stated something about. */
  readonly stated?: Readonly<Record<string, StatementFact['status']>>;
  readonly young?: readonly string[];
  readonly diverging?: readonly string[];
  readonly contradicted?: readonly string[];
  readonly unchecked?: UncheckedReason;
  /** Packages of third parties, all of registered origins. */
  readonly registered?: readonly string[];
  readonly policy?: Partial<GatePolicy>;
  readonly by?: ApprovalRequest['by'];
}

const POLICY: GatePolicy = {
  ...{ ageMode: 'block', vulnerabilities: 'any', uncovered: 'block', unimportant: 'pass', unchecked: 'warn' },
};
const PLAIN = { override: false, overrideReason: null } as const;

/** The tokens, then what is stopped. */
function outcome(scene: Scene): string {
  const tokens: string[] = [];
  const stopped: string[] = [];
  let waiting: { ids: readonly string[]; round: number }[] = [{ ids: TEN, round: 0 }];
  while (waiting.length > 0) {
    const next: typeof waiting = [];
    for (const { ids, round } of waiting) {
      if (round > 10) return 'does not end';
      const verdict = judge(
        factsOf(scene, ids),
        { ...POLICY, ...scene.policy },
        { by: scene.by ?? 'operator', ...PLAIN },
      );
      if (verdict.kind === 'mint') tokens.push(wordsOf(ids));
      else if (verdict.kind !== 'blocked') return verdict.kind;
      else if (ids.length === 1) stopped.push(...ids);
      else {
        const split = splitFlagged(
          ids.map((id) => memberOf(scene, id)),
          { verdict, round },
        );
        stopped.push(...split.stopped);
        next.push(...split.rest.map((rest) => ({ ids: rest, round: round + 1 })));
      }
    }
    waiting = next;
  }
  const end = stopped.length > 0 ? ` | ${wordsOf(stopped.toSorted())} stopped` : '';
  return `${tokens.length > 0 ? tokens.toSorted().join(' + ') : 'nothing'}${end}`;
}

/** Each run of neighbours by its first and last. */
function wordsOf(ids: readonly string[]): string {
  const runs: string[][] = [];
  for (const id of ids) {
    const run = runs.at(-1);
    if (run && TEN.indexOf(run.at(-1) ?? '') + 1 === TEN.indexOf(id)) run.push(id);
    else runs.push([id]);
  }
  return runs.map((run) => (run.length > 1 ? `${run[0]}-${run.at(-1)}` : run[0])).join(' ');
}

const packagesOf = ({ along = {} }: Scene, id: string): string[] => [
  id,
  ...Object.entries(along).flatMap(([name, by]) => (by.includes(id) ? [name] : [])),
];

function memberOf(scene: Scene, id: string): Member {
  return { id, packages: scene.unplanned?.includes(id) ? null : new Set(packagesOf(scene, id)) };
}

/** The facts of the closure of these updates, which are what the plan of the set brings. */
function factsOf(scene: Scene, ids: readonly string[]): UpdateFacts {
  const joint = Object.entries(scene.together ?? {}).flatMap(([name, of]) =>
    of.every((id) => ids.includes(id)) ? [name] : [],
  );
  const brought = [...new Set([...ids.flatMap((id) => packagesOf(scene, id)), ...joint])];
  const named = (names: readonly string[] = []) => names.filter((name) => brought.includes(name));
  const artifact = (name: string) => ({ package: name, version: VERSION, hash: 'a'.repeat(64) });
  const judged: JudgedFacts = {
    closure: closureOf(scene, brought),
    age: {
      ...{ status: 'ok', minimumHours: 72, times: [], excepted: [], pending: false },
      violations: named(scene.young).map((name) => ({ package: name, version: VERSION, ...YOUNG })),
    },
    divergences: named(scene.diverging).map((name) => ({
      ...{ ...artifact(name), divergenceId: name, algorithm: 'sha256' },
    })),
    registry: {
      ...NO_REGISTRY,
      contradicted: named(scene.contradicted).map((name) => ({
        ...{ ...artifact(name), algorithm: 'sha256', source: 'registry' },
      })),
    },
    origins: {
      items: named(scene.registered).map(originOf),
      uncovered: named(scene.registered).length,
    },
    statements: Object.entries(scene.stated ?? {}).map(([name, status]) => statementOf(name, status)),
  };
  return { ecosystem: 'apt', judged, advisories: 'judged' };
}

const YOUNG = { publishedAtMs: 0, ageHours: 1 };

function closureOf({ known = {}, fixes = [], unchecked }: Scene, brought: readonly string[]): ClosureFacts {
  const findings = Object.entries(known).flatMap(([name, words]): Finding[] => {
    return brought.includes(name) ? [{ ...FINDING, package: name, id: `CVE-${name}`, ...KNOWN[words] }] : [];
  });
  const fixed = fixes.map((name): Fix => ({ package: name, id: `CVE-old-${name}`, kev: true }));
  return {
    verdict: findings.length > 0 ? 'vulnerable' : unchecked ? 'unchecked' : 'clear',
    unchecked: unchecked ?? null,
    ...{ findings, fixed, missing: { after: 0, before: 0 } },
    ...{ checkedAtMs: 0, source: 'api', snapshot: null },
  };
}

const FINDING: Omit<Finding, 'package' | 'id'> = {
  ...{ version: VERSION, aliases: [], severity: null, summary: '', fixedIn: null, inClosure: 'top' },
  ...{ change: 'introduced', malicious: false, kev: false },
};

const originOf = (name: string): OriginFact => ({
  ...{ package: name, version: VERSION, arch: null, origin: 'Own:stable', key: 'a'.repeat(40) },
  ...{ standing: 'allowed', registration: null, firstSeenAtMs: null },
});

function statementOf(name: string, status: StatementFact['status']): StatementFact {
  return {
    ...{ id: name, sha256: 'a'.repeat(64), status, vulnerability: `CVE-${name}`, ecosystem: 'apt' },
    ...{ package: name, distribution: 'debian', versions: [VERSION], scope: { kind: 'all' } },
    ...{ endsAtMs: 1, endedAtMs: null },
  };
}

/** Where the flagged member is, the packages that are flagged, and what is then stopped and minted. */
const PLACES: readonly [place: string, at: Pick<Scene, 'along'>, flagged: readonly string[], end: string][] =
  [
    ['the first of ten', {}, ['p0'], 'p1-p9 | p0 stopped'],
    ['one in the middle of ten', {}, ['p5'], 'p0-p4 p6-p9 | p5 stopped'],
    ['the last of ten', {}, ['p9'], 'p0-p8 | p9 stopped'],
    ['two of ten', {}, ['p2', 'p7'], 'p0-p1 p3-p6 p8-p9 | p2 p7 stopped'],
    ['two neighbours at the end', {}, ['p8', 'p9'], 'p0-p7 | p8-p9 stopped'],
    ['a dependency of two', { along: { d: ['p1', 'p8'] } }, ['d'], 'p0 p2-p7 p9 | p1 p8 stopped'],
    ['a dependency of all but one', { along: { d: TEN.slice(1) } }, ['d'], 'p0 | p1-p9 stopped'],
    ['a dependency of all', { along: { d: TEN } }, ['d'], 'nothing | p0-p9 stopped'],
  ];
const ALL = 'p0-p9';
type Part = keyof typeof KNOWN | 'fixes';

/** Each part under each policy. A8: for the sweep both policies are A1 to the letter. */
const PARTS: readonly [
  part: Part,
  policy: GatePolicy['vulnerabilities'],
  by: 'operator' | 'sweep',
  end: 'stops' | 'passes',
][] = [
  ['introduces', 'any', 'operator', 'stops'],
  ['introduces', 'introduced', 'operator', 'stops'],
  ['stays', 'any', 'operator', 'stops'],
  ['stays', 'introduced', 'operator', 'passes'],
  ['fixes', 'any', 'operator', 'passes'],
  ['fixes', 'introduced', 'operator', 'passes'],
  ['stays malicious', 'introduced', 'operator', 'stops'],
  ['introduces', 'introduced', 'sweep', 'stops'],
  ['stays', 'introduced', 'sweep', 'stops'],
  ['fixes', 'any', 'sweep', 'passes'],
];

describe.each(PARTS)('what %s under `%s`, asked by the %s, %s', (part, vulnerabilities, by, end) => {
  test.each(PLACES)('%s', (_place, at, flagged, stopped) => {
    const known = part === 'fixes' ? {} : Object.fromEntries(flagged.map((name) => [name, part]));
    const fixes = part === 'fixes' ? flagged : [];
    const got = outcome({ ...at, known, fixes, by, policy: { vulnerabilities } });
    expect(got).toBe(end === 'stops' ? stopped : ALL);
  });
});

const MIDDLE = 'p0-p4 p6-p9 | p5 stopped';
const lenient = { policy: { vulnerabilities: 'introduced' } } as const;

describe('a set of ten', () => {
  test.each<[string, Scene, string]>([
    ['nothing known', {}, ALL],
    // Two parts in one set.
    [
      'one introduces, one stays',
      { known: { p2: 'introduces', p7: 'stays' } },
      'p0-p1 p3-p6 p8-p9 | p2 p7 stopped',
    ],
    [
      'one introduces, one stays: what stays is excused',
      { known: { p2: 'introduces', p7: 'stays' }, ...lenient },
      'p0-p1 p3-p9 | p2 stopped',
    ],
    [
      'the sweep stops what stays in the next round',
      { known: { p2: 'introduces', p7: 'stays' }, ...lenient, by: 'sweep' },
      'p0-p1 p3-p6 p8-p9 | p2 p7 stopped',
    ],
    [
      'one fixes what is exploited, another introduces',
      { known: { p5: 'introduces' }, fixes: ['p4'] },
      MIDDLE,
    ],
    ['one fixes and introduces', { known: { p5: 'introduces' }, fixes: ['p5'] }, MIDDLE],
    ['one fixes and keeps', { known: { p5: 'stays' }, fixes: ['p5'], ...lenient }, ALL],
    [
      'malicious code stays, beside what stays',
      { known: { p2: 'stays malicious', p7: 'stays' }, ...lenient },
      'p0-p1 p3-p9 | p2 stopped',
    ],
    [
      'what all of them have stays',
      { known: Object.fromEntries(TEN.map((name) => [name, 'stays'])), ...lenient },
      ALL,
    ],
    [
      'what all of them have stays, to the letter',
      { known: Object.fromEntries(TEN.map((name) => [name, 'stays'])) },
      'nothing | p0-p9 stopped',
    ],
    // Statements (VEX).
    ['not_affected', { known: { p5: 'introduces' }, stated: { p5: 'not_affected' } }, ALL],
    [
      'not_affected, for the sweep (A8)',
      { known: { p5: 'introduces' }, stated: { p5: 'not_affected' }, by: 'sweep' },
      MIDDLE,
    ],
    ['not_affected, exploited', { known: { p5: 'stays, exploited' }, stated: { p5: 'not_affected' } }, ALL],
    [
      'not_affected, malicious',
      { known: { p5: 'introduces malicious code' }, stated: { p5: 'not_affected' } },
      MIDDLE,
    ],
    ['accepted, stays', { known: { p5: 'stays' }, stated: { p5: 'accepted' } }, ALL],
    [
      'accepted, stays, for the sweep (A8)',
      { known: { p5: 'stays' }, stated: { p5: 'accepted' }, by: 'sweep' },
      MIDDLE,
    ],
    ['accepted, introduced', { known: { p5: 'introduces' }, stated: { p5: 'accepted' } }, MIDDLE],
    ['accepted, exploited', { known: { p5: 'stays, exploited' }, stated: { p5: 'accepted' } }, MIDDLE],
    ['accepted, malicious', { known: { p5: 'stays malicious' }, stated: { p5: 'accepted' } }, MIDDLE],
    [
      'a statement about another of the ten',
      { known: { p5: 'introduces' }, stated: { p4: 'not_affected' } },
      MIDDLE,
    ],
    [
      'a statement about one of two that are flagged',
      { known: { p2: 'introduces', p7: 'introduces' }, stated: { p7: 'not_affected' } },
      'p0-p1 p3-p9 | p2 stopped',
    ],
    [
      'a statement about a shared dependency',
      { along: { d: TEN }, known: { d: 'introduces' }, stated: { d: 'not_affected' } },
      ALL,
    ],
    [
      'a statement about an update does not reach its dependency',
      { along: { d: ['p5'] }, known: { d: 'introduces' }, stated: { p5: 'not_affected' } },
      MIDDLE,
    ],
    [
      'accepted, and under `introduced` another introduces',
      { known: { p2: 'introduces', p7: 'stays' }, stated: { p7: 'accepted' }, ...lenient },
      'p0-p1 p3-p9 | p2 stopped',
    ],
    // The vendor's word.
    ['unimportant', { known: { p5: 'introduces, unimportant' } }, ALL],
    ['unimportant, stays', { known: { p5: 'stays, unimportant' } }, ALL],
    ['unimportant, for the sweep (A8)', { known: { p5: 'introduces, unimportant' }, by: 'sweep' }, ALL],
    [
      'unimportant, the policy blocks',
      { known: { p5: 'introduces, unimportant' }, policy: { unimportant: 'block' } },
      MIDDLE,
    ],
    ['unimportant and exploited', { known: { p5: 'stays, unimportant and exploited' } }, MIDDLE],
    ['ignored', { known: { p5: 'stays, ignored' } }, MIDDLE],
    [
      'one unimportant, one flagged',
      { known: { p2: 'introduces, unimportant', p7: 'introduces' } },
      'p0-p6 p8-p9 | p7 stopped',
    ],
    [
      'unimportant in a shared dependency',
      { along: { d: TEN }, known: { d: 'introduces, unimportant' } },
      ALL,
    ],
    ['introduced and known to be exploited', { known: { p5: 'introduces, exploited' } }, MIDDLE],
    // The other stops.
    ['one too young (A7)', { young: ['p5'] }, MIDDLE],
    [
      'two too young, for the sweep',
      { young: ['p2', 'p7'], by: 'sweep' },
      'p0-p1 p3-p6 p8-p9 | p2 p7 stopped',
    ],
    [
      'a dependency that is too young',
      { along: { d: ['p1', 'p8'] }, young: ['d'] },
      'p0 p2-p7 p9 | p1 p8 stopped',
    ],
    ['one that diverges', { diverging: ['p5'] }, MIDDLE],
    ['one that its registry does not have', { contradicted: ['p5'] }, MIDDLE],
    [
      'one diverges, one is too young, one introduces: each in its round',
      { diverging: ['p0'], young: ['p5'], known: { p9: 'introduces' } },
      'p1-p4 p6-p8 | p0 p5 p9 stopped',
    ],
    ['not checked', { unchecked: 'unreachable' }, 'nothing | p0-p9 stopped'],
    [
      'not checked, and one introduces: the flagged one first, then all',
      { unchecked: 'unreachable', known: { p5: 'introduces' } },
      'nothing | p0-p9 stopped',
    ],
    ['registered origins', { unchecked: 'uncovered', registered: ['p5'] }, ALL],
    [
      'registered origins, for the sweep (A8)',
      { unchecked: 'uncovered', registered: ['p5'], by: 'sweep' },
      'nothing | p0-p9 stopped',
    ],
    [
      'registered origins, and one introduces',
      { unchecked: 'uncovered', registered: TEN, known: { p5: 'introduces' } },
      MIDDLE,
    ],
    // What no update brings by its own plan.
    [
      'flagged where two come together: halves part them',
      { together: { j: ['p0', 'p9'] }, known: { j: 'introduces' } },
      'p0-p4 + p5-p9',
    ],
    [
      'flagged where two neighbours come together',
      { together: { j: ['p0', 'p1'] }, known: { j: 'introduces' } },
      'p0 + p1 + p2 + p3-p4 + p5-p9',
    ],
    [
      'one in the middle without a plan of its own',
      { unplanned: ['p5'], known: { p5: 'introduces' } },
      'p0-p4 + p6 + p7 + p8-p9 | p5 stopped',
    ],
    [
      'two, of which one has no plan of its own',
      { unplanned: ['p7'], known: { p2: 'introduces', p7: 'introduces' } },
      'p0-p1 p3-p5 + p6 + p8-p9 | p2 p7 stopped',
    ],
    [
      'all share a dependency, and none has a plan of its own',
      { unplanned: TEN, along: { d: TEN }, known: { d: 'introduces' } },
      'nothing | p0-p9 stopped',
    ],
  ])('%s', (_what, scene, expected) => {
    expect(outcome(scene)).toBe(expected);
  });
});
