import type { RecordedFacts } from '@tidegate/protocol/decisions-api';
import type { ClosureFacts, Finding } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { PackageProvenance } from '../provenance/plan-provenance.ts';
import type { AgeFacts } from './age-rules.ts';
import type { UpdateFacts } from './gate-facts.ts';
import { NO_REGISTRY } from './registry-rules.ts';

/** Most entries per list of a record; the original number is recorded too. */
export const RECORDED_MAX = {
  findings: 200,
  fixed: 200,
  violations: 200,
  times: 500,
  excepted: 200,
  provenance: 200,
} as const;
const DIVERGENCES_MAX = 100;
const CONTRADICTED_MAX = 100;
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
    judged: judged && {
      closure: recordedClosure(judged.closure),
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
  const { ecosystem, advisories, judged, provenance } = facts;
  return {
    ecosystem,
    advisories,
    ...(provenance && { information: { firstSeen: [], provenance: provenanceOf(provenance.items) } }),
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
    },
  };
}

function recordedClosure(closure: ClosureFacts): Judged['closure'] {
  const { verdict, unchecked, findings, fixed, missing, checkedAtMs, source, snapshot } = closure;
  const weighty = ({ malicious, change }: Finding) => malicious || change === 'introduced';
  return {
    ...{ verdict, unchecked, missing: { ...missing }, source, snapshot },
    checked_at_ms: checkedAtMs,
    findings: cut(findings, { most: RECORDED_MAX.findings, first: weighty }, (finding) => ({
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
    })),
    fixed: cut(fixed, { most: RECORDED_MAX.fixed }, ({ id, package: name }) => ({ id, package: name })),
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
      { most: RECORDED_MAX.violations, first: ({ ageHours }) => ageHours !== null },
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
    { most: RECORDED_MAX.provenance, first: ({ status, dropped }) => dropped || status === 'mismatch' },
    ({ package: name, version, status, dropped }) => ({ package: name, version, status, dropped }),
  );
}

function provenanceOf(items: RecordedProvenance['items']): PackageProvenance[] {
  return items.map((item) => ({ ...item, sourceRepository: null, builder: null }));
}

/** Keeps the order unless the list is truncated; then the deciding entries come first. */
function cut<T, R>(
  items: readonly T[],
  { most, first = () => false }: { most: number; first?: (item: T) => boolean },
  form: (item: T) => R,
): { total: number; items: R[] } {
  const isCut = items.length > most;
  const ordered = isCut ? [...items.filter(first), ...items.filter((item) => !first(item))] : items;
  return { total: items.length, items: ordered.slice(0, most).map(form) };
}
