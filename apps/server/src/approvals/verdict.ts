import type { PolicyMismatch } from '@tidegate/protocol/policies-api';
import type { Finding, UncheckedReason } from '../advisories/closure-facts.ts';
import type { Excuse } from './counting-rules.ts';
import type { GatePolicy, JudgedFacts } from './gate-facts.ts';

/** No override passes these. */
export type FinalStop =
  | { readonly by: 'divergence'; readonly reason: 'artifact_divergence' }
  | { readonly by: 'registry'; readonly reason: 'artifact_unknown_to_registry' }
  /** An operator keeps a package as it is. */
  | { readonly by: 'hold'; readonly reason: 'held' }
  | { readonly by: 'age'; readonly reason: 'too_young' | 'unknown_age' }
  /** The terms of the policy that asks. */
  | { readonly by: 'policy'; readonly reason: PolicyStopReason };

export type PolicyStopReason =
  | PolicyMismatch
  | ('policy_age' | 'policy_age_unknown' | 'age_exception')
  /** Of a policy with rings: no rollout has entered the host's, or no inner ring has installed what the plan brings. */
  | ('ring_not_entered' | 'unproven');

/** A1 and A2: the stops that an operator's override passes (A3). */
export type ClosureStop =
  | { readonly by: 'vulnerability'; readonly reason: 'known_vulnerability' }
  | { readonly by: 'unchecked'; readonly reason: UncheckedReason };

export type Stop = FinalStop | ClosureStop;

/** An override that was needed: the stop that it passes and the operator's reason (A3). */
export interface Override {
  readonly stop: ClosureStop;
  readonly reason: string;
}

export type GateWarning =
  | 'override_not_needed'
  | 'closure_unchecked'
  | 'distribution_uncovered'
  | 'age_violation'
  | 'unimportant_not_counted'
  | 'statement_used'
  | 'provenance_dropped'
  | 'provenance_mismatch'
  | 'origin_changed'
  | 'registered_origin_used';

export type Verdict =
  | MintVerdict
  | BlockedVerdict
  | { readonly kind: 'override_reason_required' }
  /** No plan yet: the agent is asked for one. */
  | { readonly kind: 'plan_unknown' }
  /** An override without a known plan (reading 5). */
  | { readonly kind: 'plan_required' }
  | { readonly kind: 'verdict_pending' };

export interface MintVerdict {
  readonly kind: 'mint';
  /** The vulnerability policy that it was judged by. */
  readonly policy: GatePolicy['vulnerabilities'];
  readonly judged: JudgedFacts;
  /** Findings that did not count, with the reason. */
  readonly excused: ReadonlyMap<Finding, Excuse>;
  /** Null when nothing blocked. */
  readonly override: Override | null;
  readonly warnings: readonly GateWarning[];
}

export type BlockedVerdict = {
  readonly kind: 'blocked';
  readonly policy: GatePolicy['vulnerabilities'];
  readonly judged: JudgedFacts;
  readonly excused: ReadonlyMap<Finding, Excuse>;
} & (
  | { readonly stop: FinalStop; readonly overridable: false }
  | { readonly stop: ClosureStop; readonly overridable: boolean }
);
