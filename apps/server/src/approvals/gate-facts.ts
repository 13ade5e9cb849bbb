import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import type { PackageProvenance } from '../provenance/plan-provenance.ts';
import type { FirstSeen } from '../release-times/seen-rules.ts';
import type { AgeFacts } from './age-rules.ts';
import type { RegistryFacts } from './registry-rules.ts';

/** What is known about an update when it is judged. */
export interface UpdateFacts {
  readonly ecosystem: Ecosystem;
  /** Null while no plan is known: then there is no closure to judge. */
  readonly judged: JudgedFacts | null;
  /** How far the advisory worker came: `pending` is not judged yet, with nothing that says the source is down. */
  readonly advisories: 'judged' | 'pending' | 'unreachable';
  /** Shown beside the verdict; absent where it was not looked up. */
  readonly information?: Information;
}

/** What is known about the plan of an update. */
export interface JudgedFacts {
  readonly closure: ClosureFacts;
  readonly age: AgeFacts;
  /** Artifacts of the plan that the fleet was told of with another hash, and that no operator has accepted. */
  readonly divergences: readonly BoundDivergence[];
  readonly registry: RegistryFacts;
}

/** What an operator is shown beside the verdict: nothing of it stops anybody. */
export interface Information {
  /** When the fleet first had the versions that are new to the host; an age of sorts where the gate has none. */
  readonly firstSeen: readonly FirstSeen[];
  readonly provenance: readonly PackageProvenance[];
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
