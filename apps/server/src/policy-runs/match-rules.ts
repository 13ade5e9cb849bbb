import type { PolicyMismatch, PolicyScope, PolicyTerms } from '@tidegate/protocol/policies-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { mismatchOfRow } from '../policies/policy-rules.ts';
import { recommendedBit } from '../updates/offer-rules.ts';
import type { WaitingUpdate } from './candidates-store.ts';

/** A policy, as far as matching needs it. */
export interface MatchedPolicy {
  readonly sha256: string;
  readonly scope: PolicyScope;
  readonly terms: PolicyTerms;
}

/** Why a policy leaves an update to people before any verdict. */
export type LeftOut = PolicyMismatch | 'taken_back' | 'other_version';

/** Why a policy does not ask for an update of one of its hosts; null if it does. */
export function leftOut(
  { terms }: MatchedPolicy,
  update: WaitingUpdate & { ecosystem: Ecosystem },
): LeftOut | null {
  const mismatch = mismatchOfRow(terms, { ...update, version: update.available_version });
  if (mismatch) return mismatch;
  if (update.taken_back === 1) return 'taken_back';
  // Of several versions that are offered, a policy takes the newest that its terms allow.
  return (update.recommended & recommendedBit(terms.max_change)) === 0 ? 'other_version' : null;
}

/** What `leftOut` depends on: one answer for all updates with the same key. */
export function matchKey({
  ecosystem,
  name,
  origin,
  change,
  taken_back,
  recommended,
  available_version: version,
}: WaitingUpdate): string {
  return `${ecosystem}\n${name}\n${origin ?? ''}\n${change}\n${taken_back}\n${recommended}\n${version}`;
}
