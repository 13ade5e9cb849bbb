import { KEYSET_TYPE, type KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import type { Envelope } from '@tidegate/signing/verify';
import { rfc3339Seconds } from '../platform/clock.ts';

const DAY_MS = 86_400_000;
/** A key set is valid this long; it is signed anew when a third of that is left. */
export const KEY_SET_LIFETIME_MS = 90 * DAY_MS;
export const KEY_SET_RENEWAL_MS = 30 * DAY_MS;

/** The active key first, then the others whose private halves are held, newest first. */
export type Vouchers = readonly [SigningKey, ...SigningKey[]];

export interface KeySetFacts {
  fleetId: string;
  version: number;
  keys: readonly SigningKeyEntry[];
  root: { version: number; sha256: string } | null;
  now: number;
}

/** Server keys that sign one key set: with those of a root, agents examine 16 (`maximumSignatures`). */
export const VOUCHERS_MAX = 8;

/**
 * The signed list of every key, revoked ones included, so that agents learn of revocations (reading 11). All
 * given keys sign it, also one that it revokes: a host that missed a rotation still trusts only the old key.
 * Agents that know of the revocation ignore that signature.
 */
export function signKeySet(vouchers: Vouchers, facts: KeySetFacts): Envelope {
  return withVouchers(vouchers, keySetBytes(facts), []);
}

/** The signed bytes of a key set. */
export function keySetBytes({ fleetId, version, keys, root, now }: KeySetFacts): Buffer {
  const payload: KeySetPayload = {
    v: 1,
    fleet_id: fleetId,
    version,
    issued_at: rfc3339Seconds(now),
    expires_at: rfc3339Seconds(now + KEY_SET_LIFETIME_MS),
    keys: [...keys],
    ...(root && { root_version: root.version, root_sha256: root.sha256 }),
  };
  return Buffer.from(JSON.stringify(payload));
}

/** Adds the signatures of the server's keys to the existing ones. */
export function withVouchers(
  vouchers: Vouchers,
  bytes: Uint8Array,
  signatures: Envelope['signatures'],
): Envelope {
  const [first, ...others] = vouchers
    .slice(0, VOUCHERS_MAX)
    .map((key) => signEnvelope(key, KEYSET_TYPE, bytes));
  if (!first) throw new Error('a key set is signed by one key at least');
  const more = others.flatMap((envelope) => envelope.signatures);
  return { ...first, signatures: [...first.signatures, ...more, ...signatures] };
}

/** All vouching keys: the active one, then the other held ones, newest first. */
export function vouchersOf(signer: SigningKey, held: ReadonlyMap<string, SigningKey>): Vouchers {
  const others = [...held.values()].filter((key) => key.keyId !== signer.keyId);
  return [signer, ...others.reverse()];
}
