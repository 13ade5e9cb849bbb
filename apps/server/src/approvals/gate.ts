import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts, UncheckedReason } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import type { Information } from './information.ts';
import type { RegistryFacts } from './registry-rules.ts';

/** Rises with every change of what `judge` says of the same facts: recorded decisions name theirs. */
export const GATE_VERSION = 2;

/** What is known about an update when it is judged. */
export interface UpdateFacts {
  readonly ecosystem: Ecosystem;
  /** Null while no plan is known: then there is no closure to judge. */
  readonly judged: {
    readonly closure: ClosureFacts;
    readonly age: AgeFacts;
    /** Artifacts of the plan that the fleet was told of with another hash, and that no operator has accepted. */
    readonly divergences: readonly BoundDivergence[];
    readonly registry: RegistryFacts;
  } | null;
  /** How far the advisory worker came: `pending` is not judged yet, with nothing that says the source is down. */
  readonly advisories: 'judged' | 'pending' | 'unreachable';
  /** Shown beside the verdict; absent where it was not looked up. */
  readonly information?: Information;
}

/** Settings of the server that the gate goes by. */
export interface GatePolicy {
  /** A7. */
  readonly ageMode: 'block' | 'warn' | 'off';
  /** Reading 4: A1 to the letter, or only what the host does not have already. */
  readonly vulnerabilities: 'any' | 'introduced';
  /** Reading 5: what an operator meets where no database covers the distribution. */
  readonly uncovered: 'block' | 'warn';
}

export interface ApprovalRequest {
  readonly by: 'operator' | 'sweep';
  readonly override: boolean;
  readonly overrideReason: string | null;
}

export type Stop =
  | { readonly by: 'divergence'; readonly reason: 'artifact_divergence' }
  | { readonly by: 'registry'; readonly reason: 'artifact_unknown_to_registry' }
  | { readonly by: 'age'; readonly reason: 'too_young' | 'unknown_age' }
  | { readonly by: 'vulnerability'; readonly reason: 'known_vulnerability' }
  | { readonly by: 'unchecked'; readonly reason: UncheckedReason };

export type GateWarning =
  | 'override_not_needed'
  | 'closure_unchecked'
  | 'distribution_uncovered'
  | 'age_violation'
  | 'provenance_dropped'
  | 'provenance_mismatch';

export type Verdict =
  /** `waived` is the stop that the override passed; null where none was in the way. */
  | { readonly kind: 'mint'; readonly waived: Stop | null; readonly warnings: readonly GateWarning[] }
  | { readonly kind: 'blocked'; readonly stop: Stop; readonly overridable: boolean }
  | { readonly kind: 'override_reason_required' }
  /** No plan yet: the agent is asked for one. */
  | { readonly kind: 'plan_unknown' }
  /** An override for a plan that nobody has seen (reading 5). */
  | { readonly kind: 'plan_required' }
  | { readonly kind: 'verdict_pending' };

/**
 * Decides whether an update may be minted: artifacts that diverge or that their registry does not have, then age (A7),
 * then closure (A1, A2, A8), then override (A3, A4).
 */
export function judge(facts: UpdateFacts, policy: GatePolicy, request: ApprovalRequest): Verdict {
  // A3: the reason is required.
  if (request.override && isBlank(request.overrideReason)) return { kind: 'override_reason_required' };
  if (!facts.judged) return { kind: request.override ? 'plan_required' : 'plan_unknown' };
  const { closure, age, divergences, registry } = facts.judged;

  // Nobody knows which of two hashes is the package: neither A1 nor A2, so A3 does not pass it.
  if (divergences.length > 0) {
    const stop: Stop = { by: 'divergence', reason: 'artifact_divergence' };
    return { kind: 'blocked', stop, overridable: false };
  }

  // The artifact is not the one that was released under this name and version, in every mode: A3 does not pass it.
  if (registry.contradicted.length > 0) {
    const stop: Stop = { by: 'registry', reason: 'artifact_unknown_to_registry' };
    return { kind: 'blocked', stop, overridable: false };
  }

  // A7: a separate stop, evaluated before the vulnerability gate, which no override passes (reading 1).
  const tooYoung = ageStop(age, policy);
  if (tooYoung) return { kind: 'blocked', stop: tooYoung, overridable: false };
  if (registry.pending || (policy.ageMode === 'block' && age.pending)) return { kind: 'verdict_pending' };
  if (isClosurePending(facts, closure, policy)) return { kind: 'verdict_pending' };

  const warnings = [
    ...warningsOf(facts.ecosystem, closure, age, policy),
    ...provenanceWarnings(facts.information),
  ];
  const stop = closureStop(facts.ecosystem, closure, policy, request);
  if (!stop) {
    const unneeded: GateWarning[] = request.override ? ['override_not_needed'] : [];
    return { kind: 'mint', waived: null, warnings: [...unneeded, ...warnings] };
  }
  // A3, A8: only a human passes a flagged closure, and only with an override.
  if (request.override && request.by === 'operator') return { kind: 'mint', waived: stop, warnings };
  return { kind: 'blocked', stop, overridable: request.by === 'operator' };
}

/** A reason of white space and invisible characters is none. */
export function isBlank(text: string | null): boolean {
  return text === null || !/[^\p{White_Space}\p{Cf}\p{Cc}]/u.test(text);
}

function ageStop(age: AgeFacts, policy: GatePolicy): Stop | null {
  if (policy.ageMode !== 'block' || age.violations.length === 0) return null;
  const isKnown = age.violations.some(({ ageHours }) => ageHours !== null);
  return { by: 'age', reason: isKnown ? 'too_young' : 'unknown_age' };
}

/** What is there now matters for the decision only where it may excuse a vulnerability. */
function isClosurePending(facts: UpdateFacts, { missing }: ClosureFacts, policy: GatePolicy): boolean {
  if (facts.advisories !== 'pending') return false;
  return missing.after > 0 || (policy.vulnerabilities === 'introduced' && missing.before > 0);
}

function closureStop(
  ecosystem: Ecosystem,
  closure: ClosureFacts,
  policy: GatePolicy,
  request: ApprovalRequest,
): Stop | null {
  if (isStoppedByVulnerability(closure, policy, request)) {
    return { by: 'vulnerability', reason: 'known_vulnerability' };
  }
  const { unchecked } = closure;
  if (unchecked === null) return null;
  // A8: the sweep is stopped in every ecosystem, A2: an operator in apt and dnf.
  if (request.by === 'sweep') return { by: 'unchecked', reason: unchecked };
  if (!isCapabilityGated(ecosystem)) return null;
  if (unchecked === 'uncovered' && policy.uncovered === 'warn') return null;
  return { by: 'unchecked', reason: unchecked };
}

/** A1, anywhere in the closure. The sweep mints only where the verdict is clear, whatever the policy (A8). */
function isStoppedByVulnerability(
  closure: ClosureFacts,
  policy: GatePolicy,
  request: ApprovalRequest,
): boolean {
  if (closure.verdict !== 'vulnerable') return false;
  if (policy.vulnerabilities === 'any' || request.by === 'sweep') return true;
  // A malicious package stops also where the host has it already.
  return closure.findings.some(({ change, malicious }) => change === 'introduced' || malicious);
}

/** A2 names these two. */
function isCapabilityGated(ecosystem: Ecosystem): boolean {
  return ecosystem === 'apt' || ecosystem === 'dnf';
}

function warningsOf(
  ecosystem: Ecosystem,
  closure: ClosureFacts,
  age: AgeFacts,
  policy: GatePolicy,
): GateWarning[] {
  const warnings: GateWarning[] = [];
  if (closure.unchecked === 'uncovered' && isCapabilityGated(ecosystem)) {
    warnings.push('distribution_uncovered');
  } else if (closure.unchecked !== null) {
    warnings.push('closure_unchecked');
  }
  // A7: informational only in `warn`.
  if (policy.ageMode === 'warn' && age.violations.length > 0) warnings.push('age_violation');
  return warnings;
}

/** Provenance is a signal, never a stop: malicious versions carried valid one. */
function provenanceWarnings(information: Information | undefined): GateWarning[] {
  const provenance = information?.provenance ?? [];
  const warnings: GateWarning[] = [];
  if (provenance.some(({ dropped }) => dropped)) warnings.push('provenance_dropped');
  if (provenance.some(({ status }) => status === 'mismatch')) warnings.push('provenance_mismatch');
  return warnings;
}
