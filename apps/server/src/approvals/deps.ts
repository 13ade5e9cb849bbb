import type { AdvisoryWorker } from '../advisories/worker.ts';
import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import type { ProvenanceWorker } from '../provenance/worker.ts';
import type { AgeSource } from '../release-times/worker.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import type { GatePolicy } from './gate-facts.ts';

export interface ApprovalDeps {
  readonly platform: Platform;
  readonly config: Pick<
    Config,
    | 'gateEnforcement'
    | 'minAgeHours'
    | 'vulnerabilityPolicy'
    | 'uncovered'
    | 'unimportant'
    | 'unchecked'
    | 'advisoryMaxAgeHours'
    | 'maxChange'
  >;
  readonly keyRing: Pick<KeyRing, 'fleetId' | 'signer' | 'isActive' | 'entries'>;
  readonly worker: Pick<AdvisoryWorker, 'ensureJudged' | 'status'>;
  readonly ageSource: Pick<AgeSource, 'ensureTimed' | 'outcomes'>;
  readonly provenance: Pick<ProvenanceWorker, 'want'>;
  /** Told of every decision that is recorded, for metrics. */
  readonly onDecision?: (decision: { outcome: string; stop: string | null }) => void;
  /** How long a request waits for the worker; by default WAIT_MS. */
  readonly waitMs?: number;
}

/** Longest wait of an approval for the advisory worker (reading 5), in milliseconds. */
export const WAIT_MS = 10_000;

/** Attempts at a decision whose plan, or whose packages' facts, changed meanwhile. */
export const ATTEMPTS = 3;

/** What is left of a request's wait in milliseconds; a clock that was set back does not extend it. */
export function waitLeftMs({ platform, waitMs = WAIT_MS }: ApprovalDeps, untilMs: number): number {
  return Math.max(0, Math.min(waitMs, untilMs - platform.now()));
}

export function policyOf({ config }: Pick<ApprovalDeps, 'config'>): GatePolicy {
  return {
    ageMode: config.gateEnforcement,
    // Null until `withPolicyInForce` has read it: A1 to the letter.
    vulnerabilities: config.vulnerabilityPolicy ?? 'any',
    uncovered: config.uncovered,
    unimportant: config.unimportant,
    unchecked: config.unchecked,
  };
}
