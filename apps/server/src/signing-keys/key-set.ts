import { KEYSET_TYPE, type KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import type { Envelope } from '@tidegate/signing/verify';
import { rfc3339Seconds } from '../platform/clock.ts';

const DAY_MS = 86_400_000;
/** A key set is believed this long; it is signed anew when a third of that is left. */
export const KEY_SET_LIFETIME_MS = 90 * DAY_MS;
export const KEY_SET_RENEWAL_MS = 30 * DAY_MS;

/** The key in use first, then the others whose private halves are held, newest first. */
export type Vouchers = readonly [SigningKey, ...SigningKey[]];

export interface KeySetFacts {
  fleetId: string;
  version: number;
  keys: readonly SigningKeyEntry[];
  now: number;
}

/** Most keys that sign one key set; agents look at no more signatures (`maximumSignatures`). */
export const VOUCHERS_MAX = 8;

/**
 * The signed list of every key, revoked ones included, so that an agent learns of revocations (reading 11). All the
 * given keys sign it, also one that it revokes: whoever slept through a rotation, as an executor does between two jobs,
 * still trusts the old key alone. Who knows of the revocation does not count that signature.
 */
export function signKeySet([first, ...others]: Vouchers, facts: KeySetFacts): Envelope {
  const payload: KeySetPayload = {
    v: 1,
    fleet_id: facts.fleetId,
    version: facts.version,
    issued_at: rfc3339Seconds(facts.now),
    expires_at: rfc3339Seconds(facts.now + KEY_SET_LIFETIME_MS),
    keys: [...facts.keys],
  };
  const bytes = Buffer.from(JSON.stringify(payload));
  const envelope = signEnvelope(first, KEYSET_TYPE, bytes);
  const more = others.flatMap((key) => signEnvelope(key, KEYSET_TYPE, bytes).signatures);
  return { ...envelope, signatures: [...envelope.signatures, ...more].slice(0, VOUCHERS_MAX) };
}

/** Everybody who can vouch: the key in use, then what else is held, newest first. */
export function vouchersOf(signer: SigningKey, held: ReadonlyMap<string, SigningKey>): Vouchers {
  const others = [...held.values()].filter((key) => key.keyId !== signer.keyId);
  return [signer, ...others.reverse()];
}
