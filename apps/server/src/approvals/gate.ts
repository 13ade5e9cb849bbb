import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts, Finding } from '../advisories/closure-facts.ts';
import { originsAllow } from '../origins/origin-rules.ts';
import { mismatchOf, tooYoung } from '../policies/policy-rules.ts';
import { ringStop } from '../rollouts/promotion-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import { type Excuse, excusedFindings, vendorExcused } from './counting-rules.ts';
import type { ApprovalRequest, GatePolicy, Information, JudgedFacts, UpdateFacts } from './gate-facts.ts';
import type { ClosureStop, FinalStop, GateWarning, Verdict } from './verdict.ts';

/** Increases whenever `judge` decides differently on the same facts; recorded decisions name their version. */
export const GATE_VERSION = 8;

/**
 * Decides whether an update may be minted: artifacts that diverge or are unknown to their registry, then holds, then age (A7), then the
 * terms of a policy that asks, then closure (A1, A2, A8), then override (A3, A4).
 */
export function judge(facts: UpdateFacts, policy: GatePolicy, request: ApprovalRequest): Verdict {
  const reason = request.override ? request.overrideReason : null;
  // A3: the reason is required.
  if (request.override && !isReason(reason)) return { kind: 'override_reason_required' };
  const { ecosystem, judged } = facts;
  if (!judged) return { kind: request.override ? 'plan_required' : 'plan_unknown' };

  const { closure, statements = [] } = judged;
  const excused = excusedFindings(closure.findings, { statements, ecosystem, policy, request });
  const known = { policy: policy.vulnerabilities, judged, excused } as const;
  // No override passes these. A7: age is a separate stop, evaluated before the vulnerability gate (reading 1).
  const final =
    artifactStop(judged) ??
    holdStop(judged) ??
    ageStop(judged.age, policy) ??
    standingStop(judged.age, policy, request);
  if (final) return { kind: 'blocked', ...known, stop: final, overridable: false };
  if (isPending(facts, judged, policy)) return { kind: 'verdict_pending' };

  const warnings = [
    ...closureWarnings(facts, judged, policy),
    ...excuseWarnings(excused),
    ...provenanceWarnings(facts.information),
    ...originWarnings(facts.information),
  ];
  const stop =
    vulnerabilityStop(closure, excused, policy, request) ?? uncheckedStop(ecosystem, judged, policy, request);
  if (!stop) {
    const unneeded: GateWarning[] = request.override ? ['override_not_needed'] : [];
    return { kind: 'mint', ...known, override: null, warnings: [...unneeded, ...warnings] };
  }
  // A3, A8: only a human passes a flagged closure, and only with an override.
  if (request.by === 'operator' && reason !== null) {
    return { kind: 'mint', ...known, override: { stop, reason }, warnings };
  }
  return { kind: 'blocked', ...known, stop, overridable: request.by === 'operator' };
}

/** A reason must have a visible character. */
export function isReason(text: string | null): text is string {
  return text !== null && /[^\p{White_Space}\p{Cf}\p{Cc}]/u.test(text);
}

/** Blocks in every mode: the artifact may not be the released package. */
function artifactStop({ divergences, registry }: JudgedFacts): FinalStop | null {
  // Either of two hashes may be the package's. This is neither A1 nor A2, so A3 does not pass it.
  if (divergences.length > 0) return { by: 'divergence', reason: 'artifact_divergence' };
  // This is not the artifact released under this name and version.
  if (registry.contradicted.length > 0) return { by: 'registry', reason: 'artifact_unknown_to_registry' };
  return null;
}

/** What an operator has put on hold is released before it changes: no override passes it. */
function holdStop({ held = [] }: JudgedFacts): FinalStop | null {
  return held.length > 0 ? { by: 'hold', reason: 'held' } : null;
}

function ageStop(age: AgeFacts, policy: GatePolicy): FinalStop | null {
  if (policy.ageMode !== 'block' || age.violations.length === 0) return null;
  const isKnown = age.violations.some(({ ageHours }) => ageHours !== null);
  return { by: 'age', reason: isKnown ? 'too_young' : 'unknown_age' };
}

/** Reading 5: wait for pending facts, unless their source is down. */
function isPending(facts: UpdateFacts, { closure, age, registry }: JudgedFacts, policy: GatePolicy): boolean {
  if (registry.pending || (policy.ageMode === 'block' && age.pending)) return true;
  if (facts.advisories !== 'pending') return false;
  // The present versions matter only if they can excuse a vulnerability.
  const { after, before } = closure.missing;
  return after > 0 || (policy.vulnerabilities === 'introduced' && before > 0);
}

/** A1, anywhere in the closure. The sweep mints only where nothing counts, whatever the policy of reading 4 (A8). */
function vulnerabilityStop(
  closure: ClosureFacts,
  excused: ReadonlyMap<Finding, Excuse>,
  policy: GatePolicy,
  request: ApprovalRequest,
): ClosureStop | null {
  if (closure.verdict !== 'vulnerable') return null;
  const counted = closure.findings.filter((finding) => !excused.has(finding));
  if (excused.size > 0 && counted.length === 0) return null;
  const isExcused = policy.vulnerabilities === 'introduced' && mayExcuse(request);
  // Reading 4: a vulnerability that the host already has is excused, unless it is malicious.
  if (isExcused && !counted.some((finding) => stopsAnyway(finding, request))) return null;
  return { by: 'vulnerability', reason: 'known_vulnerability' };
}

/** Reading 4 is for operators, and for policies whose author has said so; never for the sweep (A8). */
function mayExcuse({ by, standing }: ApprovalRequest): boolean {
  return by === 'operator' || (by === 'policy' && standing?.terms.remaining_vulnerabilities === 'approve');
}

/** What is known to be exploited is left to a person, also if it stays. */
function stopsAnyway({ change, malicious, kev }: Finding, { by }: ApprovalRequest): boolean {
  return change === 'introduced' || malicious || (by === 'policy' && kev !== false);
}

/** A policy approves only what its terms name, and never by an exception that a person made for one version. */
function standingStop(
  { excepted }: AgeFacts,
  { ageMode }: GatePolicy,
  { standing }: ApprovalRequest,
): FinalStop | null {
  if (!standing) return null;
  const { terms, updates, brought, ring, atMs } = standing;
  const [reason] = updates.flatMap((update) => mismatchOf(terms, update) ?? []);
  if (reason) return { by: 'policy', reason };
  const kept = ring ? ringStop(ring, atMs) : null;
  if (kept) return { by: 'policy', reason: kept };
  if (ageMode === 'block' && excepted.length > 0) return { by: 'policy', reason: 'age_exception' };
  const young = tooYoung(terms, brought, atMs);
  if (young.length === 0) return null;
  const isKnown = young.some(({ sinceMs }) => sinceMs !== null);
  return { by: 'policy', reason: isKnown ? 'policy_age' : 'policy_age_unknown' };
}

/**
 * Which settings of the vulnerability policy stop an operator: `any` is A1 to the letter alone, `introduced` both.
 * Unknown vulnerabilities stop nobody here (A2 does).
 */
export function stoppedUnder(
  closure: ClosureFacts,
  policy: GatePolicy,
): GatePolicy['vulnerabilities'] | 'neither' {
  // Operators' statements are left out: they differ by host, and end.
  const excused = vendorExcused(closure.findings, policy);
  const request: ApprovalRequest = { by: 'operator', override: false, overrideReason: null };
  const isStopped = (vulnerabilities: GatePolicy['vulnerabilities']) =>
    vulnerabilityStop(closure, excused, { ...policy, vulnerabilities }, request) !== null;
  if (isStopped('introduced')) return 'introduced';
  return isStopped('any') ? 'any' : 'neither';
}

function uncheckedStop(
  ecosystem: Ecosystem,
  { closure, origins }: JudgedFacts,
  policy: GatePolicy,
  request: ApprovalRequest,
): ClosureStop | null {
  const { unchecked } = closure;
  if (unchecked === null) return null;
  // What an admin registered is more specific than any policy. A8: the sweep never mints by it.
  if (request.by === 'operator' && unchecked === 'uncovered' && originsAllow(origins)) return null;
  // A8 blocks the sweep in every ecosystem, A2 operators in apt and dnf, and the policy operators in the others too.
  if (request.by === 'operator' && policy.unchecked !== 'block') {
    if (!isCapabilityGated(ecosystem)) return null;
    // Reading 5: where no database covers the distribution, the policy may turn this into a warning.
    if (unchecked === 'uncovered' && policy.uncovered === 'warn') return null;
  }
  return { by: 'unchecked', reason: unchecked };
}

/** A2 names these two. */
function isCapabilityGated(ecosystem: Ecosystem): boolean {
  return ecosystem === 'apt' || ecosystem === 'dnf';
}

function closureWarnings(
  { ecosystem }: UpdateFacts,
  { closure, age, origins }: JudgedFacts,
  policy: GatePolicy,
): GateWarning[] {
  const warnings: GateWarning[] = [];
  if (closure.unchecked === 'uncovered' && isCapabilityGated(ecosystem)) {
    warnings.push('distribution_uncovered');
  } else if (closure.unchecked !== null) {
    warnings.push('closure_unchecked');
  }
  if (closure.unchecked === 'uncovered' && originsAllow(origins)) warnings.push('registered_origin_used');
  // A7: informational only in `warn`.
  if (policy.ageMode === 'warn' && age.violations.length > 0) warnings.push('age_violation');
  return warnings;
}

/** What did not count is reported. */
function excuseWarnings(excused: ReadonlyMap<Finding, Excuse>): GateWarning[] {
  const by = new Set([...excused.values()].map((excuse) => excuse.by));
  const warnings: GateWarning[] = by.has('vendor') ? ['unimportant_not_counted'] : [];
  return by.has('statement') ? [...warnings, 'statement_used'] : warnings;
}

/** Provenance is a signal, never a stop: malicious versions have carried valid provenance. */
function provenanceWarnings(information: Information | undefined): GateWarning[] {
  const provenance = information?.provenance ?? [];
  const warnings: GateWarning[] = [];
  if (provenance.some(({ dropped }) => dropped)) warnings.push('provenance_dropped');
  if (provenance.some(({ status }) => status === 'mismatch')) warnings.push('provenance_mismatch');
  return warnings;
}

/** A name that another vendor publishes now may be another program. */
function originWarnings(information: Information | undefined): GateWarning[] {
  return (information?.originChanges ?? []).length > 0 ? ['origin_changed'] : [];
}
