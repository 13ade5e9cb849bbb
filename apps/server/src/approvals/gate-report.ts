import type {
  AgeReport,
  GateDivergence,
  GateFinding,
  GateHold,
  GateReport,
  OriginChange,
  ThirdPartyPackage,
  UnknownArtifact,
  UpdatePackage,
  Warning,
} from '@tidegate/protocol/approvals-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts, Finding } from '../advisories/closure-facts.ts';
import { splitFindings } from '../advisories/closure-parts.ts';
import { type OriginFact, suitesOf } from '../origins/origin-rules.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { AgeFacts } from './age-rules.ts';
import type { Excuse } from './counting-rules.ts';
import type { UpdateFacts } from './gate-facts.ts';
import type { LoadedUpdate } from './load-update.ts';
import type { GateWarning, Stop, Verdict } from './verdict.ts';

/** Most findings per report; the most severe come first. */
export const FINDINGS_MAX = 1_000;

export function packageOf({ update, ecosystem }: LoadedUpdate): UpdatePackage {
  return { ecosystem, name: update.name, version: update.available_version };
}

/** The gate's report as the API returns it (`approval_blocked`, preview, `gate`). */
export function gateReport(loaded: LoadedUpdate, facts: UpdateFacts, verdict: Verdict): GateReport {
  return { update_id: loaded.update.id, package: packageOf(loaded), ...verdictReport(facts, verdict) };
}

/** The same of a set, without naming its updates. */
export function verdictReport(
  facts: UpdateFacts,
  verdict: Verdict,
): Omit<GateReport, 'update_id' | 'package'> {
  const closure = facts.judged?.closure ?? null;
  const stop = verdict.kind === 'blocked' ? verdict.stop : null;
  const excused = verdict.kind === 'blocked' || verdict.kind === 'mint' ? verdict.excused : NONE_EXCUSED;
  return {
    blocked_by: stop?.by ?? null,
    overridable: verdict.kind === 'blocked' && verdict.overridable,
    reason: stop?.reason ?? null,
    ...verdictParts(closure, { excused, most: FINDINGS_MAX }),
    age: ageReport(facts.judged?.age ?? null),
    divergences: divergencesOf(facts),
    unknown_artifacts: unknownArtifactsOf(facts),
    held: holdsOf(facts),
    first_seen: (facts.information?.firstSeen ?? [])
      .slice(0, FINDINGS_MAX)
      .map(({ package: name, version, atMs }) => ({ package: name, version, first_seen_at: rfc3339(atMs) })),
    provenance: provenanceReport(facts),
    origin_changes: originChangesOf(facts),
    third_party: thirdPartyOf(facts),
    verdict: closure?.verdict ?? 'unchecked',
    vulnerability_policy: 'policy' in verdict ? verdict.policy : null,
    checked_at: closure?.checkedAtMs == null ? null : rfc3339(closure.checkedAtMs),
    source: closure?.source ?? null,
    snapshot: closure?.snapshot ?? null,
  };
}

const NONE_EXCUSED: ReadonlyMap<Finding, Excuse> = new Map();

export type VerdictParts = Pick<
  GateReport,
  'introduces' | 'stays' | 'fixes' | 'fixes_complete' | 'unchecked'
>;

/** The three parts of a verdict: at most `most` entries each, the most severe first. */
export function verdictParts(
  closure: ClosureFacts | null,
  { excused, most }: { excused: ReadonlyMap<Finding, Excuse>; most: number },
): VerdictParts {
  const { introduced, stayed } = splitFindings(closure?.findings ?? []);
  return {
    introduces: findingsOf(introduced, excused, most),
    stays: findingsOf(stayed, excused, most),
    fixes: (closure?.fixed ?? []).slice(0, most).map((fix) => ({
      package: fix.package,
      version: fix.version ?? '',
      id: fix.id,
      aliases: [...(fix.aliases ?? [])],
      severity: fix.severity ?? null,
      summary: fix.summary ?? '',
      ...(fix.kev !== undefined && { kev: fix.kev }),
      epss: fix.epss ?? null,
    })),
    fixes_complete: closure?.isFixedComplete ?? false,
    unchecked: closure?.unchecked ?? null,
  };
}

function findingsOf(
  findings: readonly Finding[],
  excused: ReadonlyMap<Finding, Excuse>,
  most: number,
): GateFinding[] {
  return findings.slice(0, most).map((finding) => ({
    package: finding.package,
    version: finding.version,
    id: finding.id,
    aliases: [...finding.aliases],
    severity: finding.severity,
    summary: finding.summary,
    fixed_in: finding.fixedIn,
    in_closure: finding.inClosure,
    ...(finding.kev !== undefined && { kev: finding.kev }),
    epss: finding.epss ?? null,
    vendor: finding.vendor ? { ...finding.vendor } : null,
    excuse: excuseOf(excused.get(finding)),
  }));
}

function excuseOf(excuse: Excuse | undefined): GateFinding['excuse'] {
  if (!excuse) return null;
  if (excuse.by === 'vendor') return { by: 'vendor', vendor: excuse.vendor, status: excuse.status };
  return { by: 'statement', statement_id: excuse.statement.id, status: excuse.statement.status };
}

/** Divergent artifacts of the plan: undecided ones, and those that an operator has refused. */
export function divergencesOf({ judged }: UpdateFacts): GateDivergence[] {
  return (judged?.divergences ?? [])
    .slice(0, FINDINGS_MAX)
    .map(({ divergenceId, ...divergence }) => ({ divergence_id: divergenceId, ...divergence }));
}

/** Artifacts of the plan that their registry does not have. */
export function unknownArtifactsOf({ judged }: UpdateFacts): UnknownArtifact[] {
  return (judged?.registry.contradicted ?? []).slice(0, FINDINGS_MAX).map((one) => ({ ...one }));
}

/** Packages of the plan that are on hold. */
export function holdsOf({ judged }: UpdateFacts): GateHold[] {
  return (judged?.held ?? []).slice(0, FINDINGS_MAX).map(({ holdId, endsAtMs, ...one }) => ({
    ...{ package: one.package, version: one.version, hold_id: holdId, reason: one.reason },
    ends_at: rfc3339(endsAtMs),
  }));
}

/** Null when the age gate does not apply or is off. */
export function ageReport(age: AgeFacts | null): AgeReport | null {
  if (!age || age.status === 'not_applicable' || age.status === 'off') return null;
  return {
    minimum_hours: age.minimumHours,
    violations: age.violations.map((violation) => ({
      package: violation.package,
      version: violation.version,
      published_at: violation.publishedAtMs === null ? null : rfc3339(violation.publishedAtMs),
      age_hours: violation.ageHours === null ? null : Math.round(violation.ageHours * 100) / 100,
    })),
    times: age.times.slice(0, FINDINGS_MAX).map(({ package: name, version, publishedAtMs, source }) => ({
      package: name,
      version,
      published_at: publishedAtMs === null ? null : rfc3339(publishedAtMs),
      source,
    })),
  };
}

/** At most `most` of the packages whose vendor changes. */
export function originChangesOf({ information }: UpdateFacts, most = FINDINGS_MAX): OriginChange[] {
  return (information?.originChanges ?? []).slice(0, most).map((change) => ({ ...change }));
}

function thirdPartyOf({ ecosystem, judged }: UpdateFacts): ThirdPartyPackage[] {
  const items = (judged?.origins?.items ?? []).slice(0, FINDINGS_MAX);
  return items.map((one) => thirdPartyPackage(ecosystem, one));
}

/** One package of each third-party origin. */
export function thirdPartyOriginsOf({ ecosystem, judged }: UpdateFacts, most: number): ThirdPartyPackage[] {
  const items = judged?.origins?.items ?? [];
  const origins = Map.groupBy(items, ({ origin, key, standing }) => `${origin}\n${key}\n${standing}`);
  return [...origins.values()]
    .flatMap(([first]) => first ?? [])
    .slice(0, most)
    .map((one) => thirdPartyPackage(ecosystem, one));
}

function thirdPartyPackage(
  ecosystem: Ecosystem,
  { registration, firstSeenAtMs, ...one }: OriginFact,
): ThirdPartyPackage {
  return {
    ...one,
    suites: suitesOf(ecosystem, one.origin),
    registration: registration && {
      ...{ id: registration.id, rule: registration.rule, min_age_days: registration.minAgeDays },
      ...{ reason: registration.reason, ends_at: rfc3339(registration.endsAtMs) },
    },
    first_seen_at: firstSeenAtMs === null ? null : rfc3339(firstSeenAtMs),
  };
}

function provenanceReport({ information }: UpdateFacts): GateReport['provenance'] {
  return (information?.provenance ?? [])
    .slice(0, FINDINGS_MAX)
    .map(({ package: name, version, status, sourceRepository, builder, dropped }) => ({
      package: name,
      version,
      status,
      ...(sourceRepository === null ? {} : { source_repository: sourceRepository }),
      ...(builder === null ? {} : { builder }),
      dropped,
    }));
}

const WARNING_DETAILS: Readonly<Record<GateWarning, string>> = {
  override_not_needed: 'Nothing blocked this update: it was approved without the override.',
  closure_unchecked: 'What would be installed could not be checked for known vulnerabilities.',
  distribution_uncovered:
    'No vulnerability database covers the distribution of this host, or the origin of a package.',
  age_violation: 'A version that would be installed is younger than the minimum age, or its age is unknown.',
  unimportant_not_counted:
    'A vulnerability of what would be installed did not count: its distribution calls it unimportant.',
  statement_used:
    "A vulnerability of what would be installed did not count: an operator's statement excuses it.",
  provenance_dropped:
    'A version that would be installed has no provenance, although the version on the host has one.',
  provenance_mismatch:
    'The provenance of a version that would be installed is for another artifact than the plan.',
  registered_origin_used:
    'No database covers a package of a third party: it passes because its origin is registered.',
  origin_changed: 'A package comes from another vendor than the version on the host.',
};

export function warningsOf(codes: readonly GateWarning[]): Warning[] {
  return codes.map((code) => ({ code, detail: WARNING_DETAILS[code] }));
}

/** One line for the log and the history of an update, such as `vulnerability: known_vulnerability`. */
export function stopText({ by, reason }: Stop): string {
  return `${by}: ${reason}`;
}
