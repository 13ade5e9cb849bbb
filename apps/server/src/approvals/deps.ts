import type { AdvisoryWorker } from '../advisories/worker.ts';
import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import type { AgeSubject } from './age-rules.ts';
import type { GatePolicy } from './gate.ts';

export type SourceOutcome = 'judged' | 'pending' | 'unreachable';

/** Where times of release come from (A7); like the advisory worker it is waited for and never called out to. */
export interface AgeSource {
  ensureTimed(subjects: readonly AgeSubject[], timeoutMs: number): Promise<SourceOutcome>;
}

/** No registry to ask: what is not stored is `unknown_age`, a violation in `block`. */
export const NO_AGE_SOURCE: AgeSource = { ensureTimed: async () => 'unreachable' };

export interface ApprovalDeps {
  readonly platform: Platform;
  readonly config: Pick<
    Config,
    'gateEnforcement' | 'minAgeHours' | 'vulnerabilityPolicy' | 'uncovered' | 'advisoryMaxAgeHours'
  >;
  readonly keyRing: Pick<KeyRing, 'fleetId' | 'signer' | 'isActive'>;
  readonly worker: Pick<AdvisoryWorker, 'ensureJudged' | 'status'>;
  readonly ageSource: AgeSource;
  /** How long a request waits for the worker; WAIT_MS unless a test says otherwise. */
  readonly waitMs?: number;
}

/** Longest wait of an approval for the advisory worker (reading 5), in milliseconds. */
export const WAIT_MS = 10_000;

export function policyOf({ config }: Pick<ApprovalDeps, 'config'>): GatePolicy {
  return {
    ageMode: config.gateEnforcement,
    vulnerabilities: config.vulnerabilityPolicy,
    uncovered: config.uncovered,
  };
}
