import { KEYSET_TYPE, type KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import type { Envelope } from '@tidegate/signing/verify';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { SigningKeyRow } from './store.ts';

const DAY_MS = 86_400_000;
/** A key set is believed this long; it is signed anew when a third of that is left. */
export const KEY_SET_LIFETIME_MS = 90 * DAY_MS;
export const KEY_SET_RENEWAL_MS = 30 * DAY_MS;

export interface KeySetFacts {
  fleetId: string;
  version: number;
  keys: readonly SigningKeyRow[];
  now: number;
}

/** The signed list of every key, revoked ones included, so that an agent learns of revocations (reading 11). */
export function signKeySet(signer: SigningKey, facts: KeySetFacts): Envelope {
  const payload: KeySetPayload = {
    v: 1,
    fleet_id: facts.fleetId,
    version: facts.version,
    issued_at: rfc3339Seconds(facts.now),
    expires_at: rfc3339Seconds(facts.now + KEY_SET_LIFETIME_MS),
    keys: facts.keys.map(entryOf),
  };
  return signEnvelope(signer, KEYSET_TYPE, Buffer.from(JSON.stringify(payload)));
}

function entryOf(row: SigningKeyRow): SigningKeyEntry {
  return {
    key_id: row.key_id,
    version: row.version,
    public_key_hex: row.public_key_hex,
    status: row.status,
    created_at: rfc3339Seconds(row.created_at),
    revoked_at: row.revoked_at === null ? null : rfc3339Seconds(row.revoked_at),
  };
}
