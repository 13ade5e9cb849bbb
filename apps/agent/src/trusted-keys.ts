import { KEYSET_TYPE, KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { KeyError, loadTrustedKey, type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Check } from 'typebox/value';
import type { TrustedKeySet } from './config-file.ts';

/** Why a key set was not taken; what is trusted stays as it was. */
export type KeySetRefusal =
  | 'not_vouched_for'
  | 'malformed'
  | 'wrong_fleet'
  | 'not_newer'
  | 'expired'
  | 'key_changed'
  | 'revocation_undone'
  | 'unusable_key'
  | 'no_active_key';

export type KeySetOutcome = { ok: true; keys: TrustedKeySet } | { ok: false; reason: KeySetRefusal };

/**
 * Takes a fetched key set when a key vouches for it that this host trusts already and has not seen revoked (design
 * reading 11): a row added to the server's table by hand is not enough. Revocations are forward-only.
 */
export function acceptKeySet(current: TrustedKeySet, envelope: unknown, nowMs: number): KeySetOutcome {
  const verified = verifyEnvelope(envelope, activeKeys(current), KEYSET_TYPE);
  if (!verified.ok) return { ok: false, reason: 'not_vouched_for' };
  const payload = parseKeySet(verified.payload);
  if (payload === null) return { ok: false, reason: 'malformed' };
  if (payload.fleet_id !== current.fleet_id) return { ok: false, reason: 'wrong_fleet' };
  if (payload.version <= current.version) return { ok: false, reason: 'not_newer' };
  return mergeKeySet(current.keys, payload, nowMs);
}

/**
 * Pins the first key set, at enrolment: the connection and the registration token are all that speaks for it then, so
 * it must at least be signed by a key that it names itself.
 */
export function pinKeySet(envelope: unknown, nowMs: number): KeySetOutcome {
  const claimed = claimedKeys(envelope);
  if (claimed === null) return { ok: false, reason: 'malformed' };
  const verified = verifyEnvelope(envelope, claimed, KEYSET_TYPE);
  if (!verified.ok) return { ok: false, reason: 'not_vouched_for' };
  const payload = parseKeySet(verified.payload);
  if (payload === null) return { ok: false, reason: 'malformed' };
  return mergeKeySet([], payload, nowMs);
}

/** The keys whose signature counts now. The stored set was checked when it was taken. */
export function activeKeys(set: TrustedKeySet): TrustedKey[] {
  return set.keys
    .filter((key) => key.status === 'active')
    .map((key) => loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
}

function parseKeySet(bytes: Uint8Array): KeySetPayload | null {
  const parsed = parseStrictJson(bytes);
  return parsed.ok && Check(KeySetPayload, parsed.value) ? parsed.value : null;
}

/** What an envelope says of itself, unverified: only good for trying its own keys on it. */
function claimedKeys(envelope: unknown): TrustedKey[] | null {
  if (typeof envelope !== 'object' || envelope === null || !('payload' in envelope)) return null;
  if (typeof envelope.payload !== 'string') return null;
  const payload = parseKeySet(Buffer.from(envelope.payload, 'base64'));
  if (payload === null || !payload.keys.every(isUsable)) return null;
  return payload.keys
    .filter((key) => key.status === 'active')
    .map((key) => loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
}

function mergeKeySet(
  known: readonly SigningKeyEntry[],
  payload: KeySetPayload,
  nowMs: number,
): KeySetOutcome {
  if (Date.parse(payload.expires_at) <= nowMs) return { ok: false, reason: 'expired' };
  const revokedIds = new Set(known.filter(isRevoked).map((key) => key.key_id));
  const revokedHex = new Set([...known, ...payload.keys].filter(isRevoked).map((key) => key.public_key_hex));
  const knownById = new Map(known.map((key) => [key.key_id, key]));
  const ids = new Set<string>();
  for (const key of payload.keys) {
    if (ids.has(key.key_id)) return { ok: false, reason: 'malformed' };
    ids.add(key.key_id);
    const before = knownById.get(key.key_id);
    if (before && (before.public_key_hex !== key.public_key_hex || before.version !== key.version)) {
      return { ok: false, reason: 'key_changed' };
    }
    if (isRevoked(key)) continue;
    // A revoked key does not come back, under its own id or a new one (section 3: forward-only).
    if (revokedIds.has(key.key_id) || revokedHex.has(key.public_key_hex)) {
      return { ok: false, reason: 'revocation_undone' };
    }
    if (!isUsable(key)) return { ok: false, reason: 'unusable_key' };
  }
  if (!payload.keys.some((key) => !isRevoked(key))) return { ok: false, reason: 'no_active_key' };
  // A set that no longer names a revoked key does not make it forgotten.
  const remembered = known.filter((key) => isRevoked(key) && !ids.has(key.key_id));
  const { fleet_id, version, expires_at } = payload;
  return { ok: true, keys: { fleet_id, version, expires_at, keys: [...payload.keys, ...remembered] } };
}

function isRevoked(key: SigningKeyEntry): boolean {
  return key.status === 'revoked';
}

function isUsable(key: SigningKeyEntry): boolean {
  try {
    loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex });
    return true;
  } catch (error) {
    if (error instanceof KeyError) return false;
    throw error;
  }
}
