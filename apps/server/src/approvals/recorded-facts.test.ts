import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RecordedFacts } from '@tidegate/protocol/decisions-api';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { STATEMENT_USES_MAX } from './counting-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, GatePolicy, UpdateFacts } from './gate-facts.ts';
import { factsOfRecord, RECORDED_MAX, recordedFacts } from './recorded-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';
import { recordedVerdict } from './replay-decision.ts';

const text = fc.string({ maxLength: 12 });
const textOrNull = fc.option(text, { nil: null });
const timeOrNull = fc.option(fc.nat(), { nil: null });
const versioned = { package: text, version: text };

const vendor = fc.record({
  by: fc.constantFrom('debian' as const, 'ubuntu' as const),
  status: fc.constantFrom('unimportant' as const, 'ignored' as const),
});

const finding = fc.record({
  ...{ vendor: fc.option(vendor, { nil: null }), kev: fc.boolean() },
  ...{ ...versioned, id: text, aliases: fc.array(text, { maxLength: 4 }), severity: textOrNull },
  ...{ summary: text, fixedIn: textOrNull, malicious: fc.boolean() },
  inClosure: fc.constantFrom('top' as const, 'dependency' as const),
  change: fc.constantFrom('introduced' as const, 'still_present' as const),
});

const provenance = fc.record({
  ...{ ...versioned, dropped: fc.boolean() },
  // Build details are shown and not recorded, like the first sightings.
  ...{ sourceRepository: fc.constant(null), builder: fc.constant(null) },
  status: fc.constantFrom('verified' as const, 'unverified' as const, 'absent' as const, 'mismatch' as const),
});

const fix = fc.record(
  {
    ...{ id: text, ...versioned, aliases: fc.array(text, { maxLength: 4 }), severity: textOrNull },
    ...{ summary: text, kev: fc.boolean(), epss: fc.constantFrom(null, 0.5) },
  },
  { requiredKeys: ['id', 'package'] },
);

function listOf<T>(item: fc.Arbitrary<T>, most: number): fc.Arbitrary<T[]> {
  return fc.array(item, { maxLength: most });
}

/** Facts that the gate could get, and some that it could not. */
function factsWith(most: number): fc.Arbitrary<UpdateFacts> {
  const closure = fc.record({
    verdict: fc.constantFrom('clear' as const, 'vulnerable' as const, 'unchecked' as const),
    unchecked: fc.option(
      fc.constantFrom('unreachable' as const, 'undecidable' as const, 'uncovered' as const),
      {
        nil: null,
      },
    ),
    findings: listOf(finding, most),
    fixed: listOf(fix, most),
    missing: fc.record({ after: fc.nat(3), before: fc.nat(3) }),
    ...{ checkedAtMs: timeOrNull, source: textOrNull, snapshot: textOrNull },
  });
  const hours = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null });
  const age = fc.record({
    status: fc.constantFrom(
      'ok' as const,
      'violation' as const,
      'unknown_age' as const,
      'not_applicable' as const,
    ),
    ...{ minimumHours: fc.nat(1_000), pending: fc.boolean() },
    violations: listOf(fc.record({ ...versioned, publishedAtMs: timeOrNull, ageHours: hours }), most),
    times: listOf(fc.record({ ...versioned, publishedAtMs: timeOrNull, source: text }), most),
    excepted: listOf(fc.record(versioned), most),
  });
  const hash = fc.constantFrom('a'.repeat(64), 'b'.repeat(64));
  const divergence = fc.record({
    ...{ ...versioned, hash, algorithm: fc.constant('sha256' as const) },
    divergenceId: fc.constant('01900000-0000-7000-8000-00000000beef'),
  });
  const divergences = fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, listOf(divergence, 3));
  const contradicted = fc.record({
    ...{ ...versioned, hash, source: text, algorithm: fc.constantFrom('sha256' as const, 'sha512' as const) },
  });
  const registry = fc.record({
    contradicted: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, listOf(contradicted, 3)),
    pending: fc.boolean(),
  });
  return fc.record({
    ecosystem: fc.constantFrom('npm' as const, 'pypi' as const, 'apt' as const, 'dnf' as const),
    advisories: fc.constantFrom('judged' as const, 'pending' as const, 'unreachable' as const),
    judged: fc.option(fc.record({ closure, age, divergences, registry }), { nil: null, freq: 20 }),
    information: fc.record({ firstSeen: fc.constant([]), provenance: listOf(provenance, most) }),
  });
}

const policy: fc.Arbitrary<GatePolicy> = fc.record({
  ageMode: fc.constantFrom('block', 'warn', 'off'),
  vulnerabilities: fc.constantFrom('any', 'introduced'),
  uncovered: fc.constantFrom('block', 'warn'),
  unimportant: fc.constantFrom('pass', 'block'),
  unchecked: fc.constantFrom('block', 'warn'),
});
const request: fc.Arbitrary<ApprovalRequest> = fc.record({
  by: fc.constantFrom('operator', 'sweep'),
  override: fc.boolean(),
  overrideReason: fc.constantFrom(null, '', ' ', 'a reason'),
});

/** As read from the database. */
function throughText(facts: UpdateFacts): UpdateFacts {
  return factsOfRecord(Value.Parse(RecordedFacts, JSON.parse(canonicalJson(recordedFacts(facts)))));
}

describe('the recorded facts of a decision', () => {
  test('equal the original facts unless a list is truncated', () => {
    fc.assert(
      fc.property(factsWith(6), (facts) => {
        // fast-check makes objects without a prototype.
        expect(throughText(facts)).toEqual(structuredClone(facts));
      }),
    );
  });

  test('lead to the same decision, whatever was truncated', () => {
    const long = RECORDED_MAX.findings + 30;
    fc.assert(
      fc.property(factsWith(4), policy, request, fc.nat(long), (facts, going, asked, more) => {
        const { judged } = facts;
        // The deciding entries come last, where truncation would remove them.
        const padded = judged && {
          ...judged,
          closure: {
            ...judged.closure,
            findings: [...harmless(more), ...unimportant(more), ...judged.closure.findings],
          },
          age: { ...judged.age, violations: [...unknownAges(more), ...judged.age.violations] },
        };
        const told = [...unsigned(more), ...(facts.information?.provenance ?? [])];
        const given = { ...facts, judged: padded, information: { firstSeen: [], provenance: told } };
        const said = recordedVerdict(judge(given, going, asked));
        expect(recordedVerdict(judge(throughText(given), going, asked))).toEqual(said);
      }),
      { numRuns: 150 },
    );
  });

  test.each([0, 1, 3, STATEMENT_USES_MAX, STATEMENT_USES_MAX + 1, RECORDED_MAX.findings + 1])(
    'lead to the same decision where statements excuse %i findings, wherever those are in a long list',
    (count) => {
      for (const others of [0, RECORDED_MAX.findings + 50]) {
        for (const rest of [
          unimportant(others),
          harmless(others).map((one) => ({ ...one, id: `X-${one.id}` })),
        ]) {
          const findings = [...rest, ...harmless(count).map((one) => ({ ...one, kev: false }))];
          const given = statedFacts(findings, harmless(count));
          for (const asked of REQUESTS) {
            for (const vulnerabilities of ['any', 'introduced'] as const) {
              const going = { ...GOING, vulnerabilities };
              const said = recordedVerdict(judge(given, going, asked));
              expect(recordedVerdict(judge(throughText(given), going, asked))).toEqual(said);
            }
          }
        }
      }
    },
  );

  test('are bounded, and say how many there were', () => {
    const facts: UpdateFacts = {
      ...{ ecosystem: 'npm', advisories: 'judged' },
      judged: {
        closure: {
          ...{ verdict: 'vulnerable', unchecked: null, missing: { after: 0, before: 0 } },
          ...{ checkedAtMs: 1, source: 'api', snapshot: null },
          findings: harmless(5_000),
          fixed: Array.from({ length: 5_000 }, (_, i) => ({ id: `CVE-${i}`, package: 'x' })),
        },
        age: {
          ...{ status: 'unknown_age', minimumHours: 72, pending: false, violations: unknownAges(5_000) },
          times: unknownAges(5_000).map((one) => ({ ...one, source: 'npm' })),
          excepted: unknownAges(5_000),
        },
        divergences: [],
        registry: {
          pending: false,
          contradicted: Array.from({ length: 5_000 }, (_, i) => ({
            ...{ package: `p${i}`, version: '1', source: 'https://registry.example' },
            ...{ algorithm: 'sha512' as const, hash: 'a'.repeat(128) },
          })),
        },
      },
    };
    const recorded = recordedFacts(facts);
    expect(recorded.judged?.closure.findings.total).toBe(5_000);
    expect(recorded.judged?.closure.findings.items).toHaveLength(RECORDED_MAX.findings);
    expect(recorded.judged?.age.times.items).toHaveLength(RECORDED_MAX.times);
    expect(recorded.judged?.age.excepted.items).toHaveLength(RECORDED_MAX.excepted);
    expect(canonicalJson(recorded).length).toBeLessThan(512 * 1024);
  });
});

const GOING: GatePolicy = {
  ...{ ageMode: 'off', vulnerabilities: 'any', uncovered: 'block', unchecked: 'warn', unimportant: 'pass' },
};
const REQUESTS: readonly ApprovalRequest[] = [
  { by: 'operator', override: false, overrideReason: null },
  { by: 'operator', override: true, overrideReason: 'read' },
  { by: 'sweep', override: false, overrideReason: null },
];

/** A statement about each of the stated ones. */
function statedFacts(findings: UpdateFindings, stated: UpdateFindings): UpdateFacts {
  return {
    ...{ ecosystem: 'npm', advisories: 'judged', information: { firstSeen: [], provenance: [] } },
    judged: {
      closure: {
        ...{ verdict: 'vulnerable', unchecked: null, missing: { after: 0, before: 0 }, fixed: [] },
        ...{ checkedAtMs: 1, source: 'api', snapshot: null, findings },
      },
      age: {
        ...{ status: 'ok', minimumHours: 72, pending: false, violations: [], times: [], excepted: [] },
      },
      ...{ divergences: [], registry: NO_REGISTRY },
      statements: stated.map(({ id, package: name, version }, i) => ({
        id: `01900000-0000-7000-8000-${String(i).padStart(12, '0')}`,
        ...{ sha256: 'a'.repeat(64), status: i % 2 === 0 ? 'accepted' : 'not_affected', vulnerability: id },
        ...{
          ecosystem: 'npm',
          package: name,
          distribution: null,
          versions: [version],
          scope: { kind: 'all' },
        },
        ...{ endsAtMs: 1, endedAtMs: null },
      })),
    },
  };
}

function harmless(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    ...{ package: 'x', version: '1', id: `CVE-${i}`, aliases: [], severity: null, summary: 's'.repeat(999) },
    ...{ fixedIn: null, inClosure: 'top', change: 'still_present', malicious: false },
  })) satisfies UpdateFindings;
}

/** Debian calls them unimportant, although the update introduces them. */
function unimportant(count: number) {
  const vendor = { by: 'debian', status: 'unimportant' } as const;
  return harmless(count).map((one) => ({ ...one, change: 'introduced' as const, vendor }));
}

type UpdateFindings = NonNullable<UpdateFacts['judged']>['closure']['findings'];

function unsigned(count: number) {
  return unknownAges(count).map(({ package: name, version }) => ({
    ...{ package: name, version, status: 'absent' as const },
    ...{ sourceRepository: null, builder: null, dropped: false },
  }));
}

function unknownAges(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    ...{ package: `p${i}`, version: '1', publishedAtMs: null, ageHours: null },
  }));
}
