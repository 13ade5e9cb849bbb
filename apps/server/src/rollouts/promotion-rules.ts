import type { UnprovenRule } from '@tidegate/protocol/rings';

const DAY_MS = 86_400_000;

/** Where a host stands with the versions that a policy with rings asks for. */
export interface RingStanding {
  /** Counted from 0. */
  readonly ring: number;
  readonly name: string;
  /** Whether rollouts that go on, or have ended well, have entered its ring with every one of these versions. */
  readonly isEntered: boolean;
  /** Those rollouts. */
  readonly rolloutIds: readonly string[];
  readonly enteredAtMs: number | null;
  /** What the plan brings and no host of an inner ring has installed with this hash; empty in the first ring. */
  readonly unproven: readonly { readonly package: string; readonly version: string }[];
  readonly rule: UnprovenRule;
}

/** Why the ring of a host keeps a set back; null if it does not. */
export function ringStop(standing: RingStanding, atMs: number): 'ring_not_entered' | 'unproven' | null {
  const { isEntered, enteredAtMs, unproven, rule } = standing;
  if (!isEntered || enteredAtMs === null) return 'ring_not_entered';
  if (unproven.length === 0) return null;
  if (rule === 'ask') return 'unproven';
  return atMs - enteredAtMs < rule.wait_days * DAY_MS ? 'unproven' : null;
}
