import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import fc from 'fast-check';
import type { ApprovalRequest, GatePolicy, Standing, UpdateFacts } from '../approvals/gate-facts.ts';
import type { PolicySubject } from '../policies/policy-rules.ts';
import { STANDING_TERMS } from './standing.ts';

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
export function factsWith(most: number): fc.Arbitrary<UpdateFacts> {
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
  const heldPackage = fc.record({
    ...{ package: text, version: textOrNull, reason: text, endsAtMs: fc.nat() },
    holdId: fc.constant('01900000-0000-7000-8000-00000000b01d'),
  });
  const held = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    fc.array(heldPackage, { minLength: 1, maxLength: 3 }),
  );
  return fc.record({
    ecosystem: fc.constantFrom('npm' as const, 'pypi' as const, 'apt' as const, 'dnf' as const),
    advisories: fc.constantFrom('judged' as const, 'pending' as const, 'unreachable' as const),
    judged: fc.option(fc.record({ closure, age, divergences, registry, held }), { nil: null, freq: 20 }),
    information: fc.record({ firstSeen: fc.constant([]), provenance: listOf(provenance, most) }),
  });
}

/** Settings of the gate. */
export const gatePolicies: fc.Arbitrary<GatePolicy> = fc.record({
  ageMode: fc.constantFrom('block', 'warn', 'off'),
  vulnerabilities: fc.constantFrom('any', 'introduced'),
  uncovered: fc.constantFrom('block', 'warn'),
  unimportant: fc.constantFrom('pass', 'block'),
  unchecked: fc.constantFrom('block', 'warn'),
});
const pattern = fc.constantFrom('*', 'a*', 'x', 'nothing');
const narrowTerms: fc.Arbitrary<PolicyTerms> = fc.record({
  ecosystems: fc.constantFrom<PolicyTerms['ecosystems']>(
    ['npm'],
    ['apt', 'dnf'],
    ['apt', 'dnf', 'npm', 'pypi'],
  ),
  packages: fc.array(pattern, { minLength: 1, maxLength: 2 }),
  except_packages: fc.constantFrom<string[]>([], [], [], ['x'], ['a*']),
  origins: fc.constantFrom([], ['*'], ['Debian*']),
  security_only: fc.boolean(),
  minimum_severity: fc.constantFrom(null, null, 'low' as const, 'high' as const),
  max_change: fc.constantFrom('any' as const, 'minor' as const, 'patch' as const),
  min_age_hours: fc.constantFrom(null, null, 24),
  remaining_vulnerabilities: fc.constantFrom('ask' as const, 'approve' as const),
});
/** Most let everything pass: otherwise hardly anything would be minted. */
const terms = fc.oneof({ weight: 3, arbitrary: fc.constant(STANDING_TERMS) }, narrowTerms);
const subject: fc.Arbitrary<PolicySubject> = fc.record({
  ecosystem: fc.constantFrom('apt' as const, 'apt' as const, 'npm' as const),
  name: fc.constantFrom('a', 'x', 'left-pad'),
  origin: fc.constantFrom(null, 'Debian:bookworm', 'Other'),
  security: fc.boolean(),
  fixes: fc.constantFrom(null, [], ['high'], ['low', null]),
  change: fc.constantFrom(null, 'patch' as const, 'minor' as const, 'major' as const),
});

/** What a policy asks for, whether its terms allow it or not. */
export const standings: fc.Arbitrary<Standing> = fc.record({
  ...{ policyId: fc.constant('01900000-0000-7000-8000-0000000000aa'), sha256: fc.constant('a'.repeat(64)) },
  ...{ terms, updates: fc.array(subject, { minLength: 1, maxLength: 3 }) },
  brought: fc.array(fc.record({ ...versioned, sinceMs: fc.constantFrom(null, 0, 86_000_000) }), {
    maxLength: 3,
  }),
  atMs: fc.constant(86_400_000),
});

/** Requests of operators, of the sweep, and of policies. */
export const requests: fc.Arbitrary<ApprovalRequest> = fc.oneof(
  fc.record({
    by: fc.constantFrom('operator', 'sweep'),
    override: fc.boolean(),
    overrideReason: fc.constantFrom(null, '', ' ', 'a reason'),
  }),
  fc.record({
    by: fc.constantFrom('policy', 'sweep'),
    override: fc.constant(false),
    overrideReason: fc.constant(null),
    standing: standings,
  }),
);
