import { type Envelope, Envelope as EnvelopeSchema, KEY_CHAIN_MAX } from '@tidegate/protocol/documents';
import { ROOTS_MAX } from '@tidegate/protocol/root-document';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { acceptKeySet, isExpired, type KeySetRefusal } from './trusted-keys.ts';

/** The key sets from the one that a host holds to the newest, oldest first, and the root documents they name. */
export const KeyChain = strict({
  key_sets: Type.Array(EnvelopeSchema, { maxItems: KEY_CHAIN_MAX }),
  roots: Type.Array(EnvelopeSchema, { maxItems: ROOTS_MAX }),
});
export type KeyChain = Static<typeof KeyChain>;

export type ChainRefusal = KeySetRefusal | 'chain_broken' | 'chain_too_long';
export type ChainOutcome =
  | { ok: true; keys: TrustedKeySet; envelope: Envelope }
  | { ok: false; reason: ChainRefusal };

/**
 * Walks from the key set that this host holds to the newest: each set must have a higher version and be signed by
 * a key that the set before it left trusted, so that a key counts until its revocation. This recovers a host that
 * missed any number of rotations. Intermediate sets may have expired, the last may not.
 */
export function walkChain(
  current: TrustedKeySet,
  { key_sets, roots }: KeyChain,
  nowMs: number,
): ChainOutcome {
  if (key_sets.length > KEY_CHAIN_MAX) return { ok: false, reason: 'chain_too_long' };
  let keys = current;
  let last: Envelope | null = null;
  for (const envelope of key_sets) {
    const taken = acceptKeySet(keys, { envelope, roots, nowMs: null });
    if (!taken.ok) return taken;
    keys = taken.keys;
    last = envelope;
  }
  if (last === null) return { ok: false, reason: 'chain_broken' };
  return isExpired(keys, nowMs) ? { ok: false, reason: 'expired' } : { ok: true, keys, envelope: last };
}

/**
 * Accepts the newest key set if a trusted key vouches for it, otherwise through the chain. `chain` is null when
 * absent.
 */
export function takeNewest(
  current: TrustedKeySet,
  { envelope, chain }: { envelope: Envelope; chain: KeyChain | null },
  nowMs: number,
): ChainOutcome {
  const direct = acceptKeySet(current, { envelope, roots: chain?.roots ?? [], nowMs });
  if (direct.ok) return { ...direct, envelope };
  return chain !== null && isChainUseful(direct.reason, chain) ? walkChain(current, chain, nowMs) : direct;
}

/** Whether a chain can overcome this refusal. */
export function isChainUseful(refusal: ChainRefusal, { key_sets }: Pick<KeyChain, 'key_sets'>): boolean {
  return key_sets.length > 0 && (refusal === 'not_vouched_for' || refusal === 'root_signature_missing');
}
