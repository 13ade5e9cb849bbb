import type { RecordedFacts } from '@tidegate/protocol/decisions-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts, Finding, Fix } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { HeldPackage } from '../holds/hold-rules.ts';
import { ORIGIN_USES_MAX, type OriginFact, type OriginFacts } from '../origins/origin-rules.ts';
import type { PackageProvenance } from '../provenance/plan-provenance.ts';
import { byVulnerability, type StatementFact, statementFor } from '../vex/statement-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import { isCalledUnimportant, STATEMENT_USES_MAX } from './counting-rules.ts';
import type { JudgedFacts, UpdateFacts } from './gate-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';

/** Most entries per list of a record; the original number is recorded too. */
export const RECORDED_MAX = {
  findings: 300,
  fixed: 200,
  violations: 200,
  times: 500,
  excepted: 200,
  provenance: 200,
  originChanges: 200,
} as const;
const DIVERGENCES_MAX = 100;
const CONTRADICTED_MAX = 100;
const HELD_MAX = 100;
/** One more than statements may excuse: with so many, none is excused. */
const STATED_MAX = STATEMENT_USES_MAX + 1;
const ALIASES_MAX = 20;
const SUMMARY_MAX_CHARS = 300;

type RecordedProvenance = NonNullable<RecordedFacts['provenance']>;
type Judged = NonNullable<RecordedFacts['judged']>;

/**
 * A decision's facts in recorded form. Truncated lists keep what decides: malicious and introduced vulnerabilities, and
 * known ages, so that the gate decides the same on the record.
 */
export function recordedFacts(facts: UpdateFacts): RecordedFacts {
  const { ecosystem, advisories, judged, information } = facts;
  return {
    ecosystem,
    advisories,
    ...(information && { provenance: recordedProvenance(information.provenance) }),
    ...(information?.originChanges && {
      origin_changes: cut(information.originChanges, { most: RECORDED_MAX.originChanges }, (one) => ({
        ...one,
      })),
    }),
    judged: judged && {
      closure: recordedClosure(judged, ecosystem),
      ...(judged.held && { held: recordedHeld(judged.held) }),
      ...(judged.statements && { statements: recordedStatements(judged.statements, judged.closure) }),
      ...(judged.origins && { origins: recordedOrigins(judged.origins) }),
      age: recordedAge(judged.age),
      divergences: recordedDivergences(judged.divergences),
      registry: {
        pending: judged.registry.pending,
        contradicted: cut(judged.registry.contradicted, { most: CONTRADICTED_MAX }, (one) => ({ ...one })),
      },
    },
  };
}

/** The gate's facts, for replaying a record. */
export function factsOfRecord(facts: RecordedFacts): UpdateFacts {
  const { ecosystem, advisories, judged, provenance, origin_changes: changes } = facts;
  return {
    ecosystem,
    advisories,
    ...((provenance || changes) && {
      information: {
        firstSeen: [],
        provenance: provenanceOf(provenance?.items ?? []),
        ...(changes && { originChanges: changes.items }),
      },
    }),
    judged: judged && {
      closure: closureOf(judged.closure),
      age: ageOf(judged.age),
      divergences: judged.divergences.items.map(({ divergence_id: divergenceId, ...rest }) => ({
        divergenceId,
        ...rest,
      })),
      registry: judged.registry
        ? { pending: judged.registry.pending, contradicted: judged.registry.contradicted.items }
        : NO_REGISTRY,
      ...(judged.held && { held: heldOf(judged.held.items) }),
      ...(judged.statements && { statements: statementsOf(judged.statements.items, ecosystem) }),
      ...(judged.origins && { origins: originsOf(judged.origins) }),
    },
  };
}

function recordedClosure({ closure, statements }: JudgedFacts, ecosystem: Ecosystem): Judged['closure'] {
  const { verdict, unchecked, findings, fixed, missing, checkedAtMs, source, snapshot } = closure;
  return {
    ...{ verdict, unchecked, missing: { ...missing }, source, snapshot },
    checked_at_ms: checkedAtMs,
    findings: cut(
      findings,
      { most: RECORDED_MAX.findings, rank: rankOf(findings, { statements, ecosystem }) },
      (finding) => ({
        package: finding.package,
        version: finding.version,
        id: finding.id,
        aliases: finding.aliases.slice(0, ALIASES_MAX),
        severity: finding.severity,
        summary: finding.summary.slice(0, SUMMARY_MAX_CHARS).toWellFormed(),
        fixed_in: finding.fixedIn,
        in_closure: finding.inClosure,
        change: finding.change,
        malicious: finding.malicious,
        ...(finding.names && { names: finding.names.slice() }),
        ...(finding.vendor !== undefined && { vendor: finding.vendor && { ...finding.vendor } }),
        ...fedOf(finding),
      }),
    ),
    fixed: cut(fixed, { most: RECORDED_MAX.fixed }, recordedFix),
  };
}

/**
 * What decides comes first: one finding that Debian calls unimportant, for its warning, and those that statements excuse,
 * as far as their number matters. Other unimportant ones come last.
 */
function rankOf(
  findings: readonly Finding[],
  { statements = [], ecosystem }: { statements: JudgedFacts['statements']; ecosystem: Ecosystem },
): (finding: Finding) => number {
  const [unimportant] = findings.filter(isCalledUnimportant);
  const about = byVulnerability(statements);
  const isStated = (finding: Finding) => statementFor(finding, about, ecosystem) !== null;
  // The policy says which of the two excuses comes first, so both numbers matter.
  const { true: both = [], false: others = [] } = Object.groupBy(findings.filter(isStated), (finding) =>
    isCalledUnimportant(finding) ? 'true' : 'false',
  );
  const stated = new Set([...both.slice(0, STATED_MAX), ...others.slice(0, STATED_MAX)]);
  return (finding) => {
    if (finding === unimportant || stated.has(finding)) return 0;
    if (isCalledUnimportant(finding)) return 3;
    return finding.malicious || finding.change === 'introduced' ? 1 : 2;
  };
}

function recordedFix(fix: Fix): Judged['closure']['fixed']['items'][number] {
  const { id, package: name, version, aliases, severity, summary } = fix;
  return {
    ...{ id, package: name },
    ...(version !== undefined && { version }),
    ...(aliases && { aliases: aliases.slice(0, ALIASES_MAX) }),
    ...(severity !== undefined && { severity }),
    ...(summary !== undefined && { summary: summary.slice(0, SUMMARY_MAX_CHARS).toWellFormed() }),
    ...fedOf(fix),
  };
}

/** What the feeds say; absent if they were not read. */
function fedOf({ kev, epss }: Pick<Finding, 'kev' | 'epss'>) {
  return { ...(kev !== undefined && { kev }), ...(epss !== undefined && { epss }) };
}

function recordedStatements(statements: readonly StatementFact[], { findings }: ClosureFacts) {
  const versions = new Set(findings.map(({ version }) => version));
  return cut(statements, { most: STATED_MAX }, ({ id, sha256, status, vulnerability, ...one }) => ({
    ...{ id, sha256, status, vulnerability, package: one.package, distribution: one.distribution },
    versions: one.versions.filter((version) => versions.has(version)),
    scope: { ...one.scope },
    ends_at_ms: one.endsAtMs,
  }));
}

function statementsOf(
  items: NonNullable<Judged['statements']>['items'],
  ecosystem: RecordedFacts['ecosystem'],
): StatementFact[] {
  return items.map(({ ends_at_ms: endsAtMs, ...item }) => ({
    ...{ ...item, ecosystem, endsAtMs, endedAtMs: null },
  }));
}

function recordedHeld(held: readonly HeldPackage[]): NonNullable<Judged['held']> {
  return cut(held, { most: HELD_MAX }, ({ holdId: hold_id, endsAtMs: ends_at_ms, ...one }) => ({
    ...{ package: one.package, version: one.version, hold_id, reason: one.reason, ends_at_ms },
  }));
}

function heldOf(items: NonNullable<Judged['held']>['items']): HeldPackage[] {
  return items.map(({ hold_id: holdId, ends_at_ms: endsAtMs, ...one }) => ({ ...one, holdId, endsAtMs }));
}

function recordedOrigins({ items, uncovered }: OriginFacts): NonNullable<Judged['origins']> {
  const form = ({ registration, firstSeenAtMs, ...one }: OriginFact) => ({
    ...one,
    registration: registration && {
      ...{ id: registration.id, sha256: registration.sha256, rule: registration.rule },
      ...{
        min_age_days: registration.minAgeDays,
        reason: registration.reason,
        ends_at_ms: registration.endsAtMs,
      },
    },
    first_seen_at_ms: firstSeenAtMs,
  });
  return { uncovered, ...cut(items, { most: ORIGIN_USES_MAX + 1 }, form) };
}

function originsOf({ items, uncovered }: NonNullable<Judged['origins']>): OriginFacts {
  return {
    uncovered,
    items: items.map(({ registration, first_seen_at_ms: firstSeenAtMs, ...one }) => ({
      ...one,
      registration: registration && {
        ...{ id: registration.id, sha256: registration.sha256, rule: registration.rule },
        ...{
          minAgeDays: registration.min_age_days,
          reason: registration.reason,
          endsAtMs: registration.ends_at_ms,
        },
      },
      firstSeenAtMs,
    })),
  };
}

function closureOf(recorded: Judged['closure']): ClosureFacts {
  const { verdict, unchecked, findings, fixed, missing, checked_at_ms, source, snapshot } = recorded;
  return {
    ...{ verdict, unchecked, missing, source, snapshot },
    checkedAtMs: checked_at_ms,
    findings: findings.items.map(({ fixed_in: fixedIn, in_closure: inClosure, ...finding }) => ({
      ...finding,
      fixedIn,
      inClosure,
    })),
    fixed: fixed.items,
  };
}

function recordedAge({
  status,
  minimumHours,
  pending,
  violations,
  times,
  excepted,
}: AgeFacts): Judged['age'] {
  return {
    ...{ status, minimum_hours: minimumHours, pending },
    violations: cut(
      violations,
      { most: RECORDED_MAX.violations, rank: ({ ageHours }) => (ageHours === null ? 1 : 0) },
      ({ package: name, version, publishedAtMs, ageHours }) => ({
        ...{ package: name, version, published_at_ms: publishedAtMs, age_hours: ageHours },
      }),
    ),
    times: cut(times, { most: RECORDED_MAX.times }, ({ package: name, version, publishedAtMs, source }) => ({
      ...{ package: name, version, published_at_ms: publishedAtMs, source },
    })),
    excepted: cut(excepted, { most: RECORDED_MAX.excepted }, ({ package: name, version }) => ({
      ...{ package: name, version },
    })),
  };
}

function ageOf(recorded: Judged['age']): AgeFacts {
  const { status, minimum_hours: minimumHours, pending, violations, times, excepted } = recorded;
  return {
    ...{ status, minimumHours, pending },
    violations: violations.items.map(({ published_at_ms, age_hours, ...violation }) => ({
      ...{ ...violation, publishedAtMs: published_at_ms, ageHours: age_hours },
    })),
    times: times.items.map(({ published_at_ms, ...time }) => ({ ...time, publishedAtMs: published_at_ms })),
    excepted: excepted.items,
  };
}

function recordedDivergences(divergences: readonly BoundDivergence[]): Judged['divergences'] {
  return cut(divergences, { most: DIVERGENCES_MAX }, ({ divergenceId, ...rest }) => ({
    divergence_id: divergenceId,
    ...rest,
  }));
}

function recordedProvenance(provenance: readonly PackageProvenance[]): RecordedProvenance {
  return cut(
    provenance,
    {
      most: RECORDED_MAX.provenance,
      rank: ({ status, dropped }) => (dropped || status === 'mismatch' ? 0 : 1),
    },
    ({ package: name, version, status, dropped }) => ({ package: name, version, status, dropped }),
  );
}

function provenanceOf(items: RecordedProvenance['items']): PackageProvenance[] {
  return items.map((item) => ({ ...item, sourceRepository: null, builder: null }));
}

/** Keeps the order unless the list is truncated; then the deciding entries, of the lowest rank, come first. */
function cut<T, R>(
  items: readonly T[],
  { most, rank = () => 0 }: { most: number; rank?: (item: T) => number },
  form: (item: T) => R,
): { total: number; items: R[] } {
  const ordered = items.length > most ? items.toSorted((a, b) => rank(a) - rank(b)) : items;
  return { total: items.length, items: ordered.slice(0, most).map(form) };
}
