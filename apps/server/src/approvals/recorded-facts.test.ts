import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RecordedFacts } from '@tidegate/protocol/decisions-api';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { factsWith, gatePolicies, requests } from '../testing/gate-arbitraries.ts';
import { STATEMENT_USES_MAX } from './counting-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, GatePolicy, UpdateFacts } from './gate-facts.ts';
import { factsOfRecord, RECORDED_MAX, recordedFacts } from './recorded-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';
import { recordedVerdict } from './replay-decision.ts';

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
      fc.property(factsWith(4), gatePolicies, requests, fc.nat(long), (facts, going, asked, more) => {
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
