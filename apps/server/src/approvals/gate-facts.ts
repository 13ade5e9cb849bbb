import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { HeldPackage } from '../holds/hold-rules.ts';
import type { OriginChange } from '../origins/change-rules.ts';
import type { OriginFacts } from '../origins/origin-rules.ts';
import type { BroughtVersion, PolicySubject } from '../policies/policy-rules.ts';
import type { PackageProvenance } from '../provenance/plan-provenance.ts';
import type { FirstSeen } from '../release-times/seen-rules.ts';
import type { RingStanding } from '../rollouts/promotion-rules.ts';
import type { StatementFact } from '../vex/statement-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import type { RegistryFacts } from './registry-rules.ts';

/** The facts about an update when it is judged. */
export interface UpdateFacts {
  readonly ecosystem: Ecosystem;
  /** Null while no plan is known: then there is no closure to judge. */
  readonly judged: JudgedFacts | null;
  /** State of the advisory worker: `pending` is not judged yet, while the source is not known to be down. */
  readonly advisories: 'judged' | 'pending' | 'unreachable';
  /** Shown with the verdict; absent if it was not looked up. */
  readonly information?: Information;
}

/** The facts about the plan of an update. */
export interface JudgedFacts {
  readonly closure: ClosureFacts;
  readonly age: AgeFacts;
  /** Artifacts of the plan for which the fleet has another hash, and that no operator has accepted. */
  readonly divergences: readonly BoundDivergence[];
  readonly registry: RegistryFacts;
  /** Packages that the plan would change and that are on hold. */
  readonly held?: readonly HeldPackage[];
  /** Operators' statements that excuse findings of the closure on this host now. */
  readonly statements?: readonly StatementFact[];
  /** Packages of third parties, with what an admin registered for them. */
  readonly origins?: OriginFacts;
}

/** Information for operators beside the verdict: none of it blocks. */
export interface Information {
  /** When the fleet first had the versions that are new to the host; an indication of age where the gate has none. */
  readonly firstSeen: readonly FirstSeen[];
  readonly provenance: readonly PackageProvenance[];
  /** Packages that another vendor publishes than the one on the host; absent if it was not looked up. */
  readonly originChanges?: readonly OriginChange[];
}

/** Settings of the gate. */
export interface GatePolicy {
  /** A7. */
  readonly ageMode: 'block' | 'warn' | 'off';
  /** Reading 4: A1 to the letter, or only vulnerabilities that the host does not have already. */
  readonly vulnerabilities: 'any' | 'introduced';
  /** Reading 5: the outcome for operators when no database covers the distribution. */
  readonly uncovered: 'block' | 'warn';
  /** Whether Debian's word that a vulnerability is `unimportant` takes it out of A1. */
  readonly unimportant: 'pass' | 'block';
  /** A2 leaves npm and PyPI out: the outcome for operators when a closure could not be checked, in any ecosystem. */
  readonly unchecked: 'block' | 'warn';
}

export interface ApprovalRequest {
  readonly by: 'operator' | 'sweep' | 'policy';
  readonly override: boolean;
  readonly overrideReason: string | null;
  /** What a policy asks for; present if one asks. */
  readonly standing?: Standing;
}

/** A standing approval, with what its terms are compared with. */
export interface Standing {
  readonly policyId: string;
  readonly sha256: string;
  readonly terms: PolicyTerms;
  /** The updates of the set, in its order. */
  readonly updates: readonly PolicySubject[];
  /** Every version that is new to the host. */
  readonly brought: readonly BroughtVersion[];
  /** The time with which ages are compared. */
  readonly atMs: number;
  /** Of a policy with rings: where the host stands. */
  readonly ring?: RingStanding;
}
