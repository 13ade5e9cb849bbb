import { KEYSET_TYPE, KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { KeyError, loadTrustedKey, type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Check } from 'typebox/value';
import type { TrustedKeySet, TrustedRoot } from '../identity/config-file.ts';
import { bearsThreshold, followRoot, type RootRefusal } from './trusted-keys-root.ts';

/** Why a key set was refused; trust is unchanged. */
export type KeySetRefusal =
  | 'not_vouched_for'
  | 'malformed'
  | 'wrong_fleet'
  | 'not_newer'
  | 'expired'
  | 'key_changed'
  | 'revocation_undone'
  | 'unusable_key'
  | 'no_active_key'
  | 'root_signature_missing'
  | RootRefusal;

export type KeySetOutcome = { ok: true; keys: TrustedKeySet } | { ok: false; reason: KeySetRefusal };

/** A key set, the root documents that came with it, and when it must still be fresh: null for one on the way. */
export interface BroughtKeySet {
  envelope: unknown;
  roots: readonly unknown[];
  nowMs: number | null;
}

/**
 * Accepts a fetched key set signed by a key that this host trusts and has not seen revoked (design reading 11): a
 * row added to the server's table by hand is not enough. With a known root, a new key needs the root's threshold,
 * which also suffices alone: it outranks every server key. Revocations are forward-only.
 */
export function acceptKeySet(current: TrustedKeySet, brought: BroughtKeySet): KeySetOutcome {
  const { envelope, roots, nowMs } = brought;
  const online = verifyEnvelope(envelope, activeKeys(current), KEYSET_TYPE);
  if (!online.ok && current.root === undefined) return { ok: false, reason: 'not_vouched_for' };
  const payload = online.ok ? parseKeySet(online.payload) : claimedKeySet(envelope);
  if (payload === null) return { ok: false, reason: online.ok ? 'malformed' : 'not_vouched_for' };
  if (payload.fleet_id !== current.fleet_id) return { ok: false, reason: 'wrong_fleet' };
  const followed = rootOf(current.root ?? null, payload, roots);
  if (!followed.ok) return followed;
  if (followed.root !== undefined && current.root !== undefined) {
    const isRootSigned = bearsThreshold(followed.root, envelope, KEYSET_TYPE);
    if (!online.ok && !isRootSigned) return { ok: false, reason: 'not_vouched_for' };
    if (!isRootSigned && bringsNewKey(current, payload))
      return { ok: false, reason: 'root_signature_missing' };
  }
  if (payload.version <= current.version) return { ok: false, reason: 'not_newer' };
  return mergeKeySet(current.keys, payload, { nowMs, root: followed.root });
}

/**
 * Pins the first key set, at enrolment: only the connection and the registration token authenticate it, so it
 * must at least be signed by one of its own keys.
 */
export function pinKeySet(
  envelope: unknown,
  { root, nowMs }: { root: unknown; nowMs: number },
): KeySetOutcome {
  const claimed = claimedKeys(envelope);
  if (claimed === null) return { ok: false, reason: 'malformed' };
  const verified = verifyEnvelope(envelope, claimed, KEYSET_TYPE);
  if (!verified.ok) return { ok: false, reason: 'not_vouched_for' };
  const payload = parseKeySet(verified.payload);
  if (payload === null) return { ok: false, reason: 'malformed' };
  const followed = rootOf(null, payload, root === undefined ? [] : [root]);
  if (!followed.ok) return followed;
  return mergeKeySet([], payload, { nowMs, root: followed.root });
}

/** The keys that may sign now. The stored set was checked when it was accepted. */
export function activeKeys(set: TrustedKeySet): TrustedKey[] {
  return set.keys
    .filter((key) => key.status === 'active')
    .map((key) => loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
}

function parseKeySet(bytes: Uint8Array): KeySetPayload | null {
  const parsed = parseStrictJson(bytes);
  return parsed.ok && Check(KeySetPayload, parsed.value) ? parsed.value : null;
}

/**
 * The root in force for this key set; none when it names none. Once a root is known, every set must name one: a
 * compromised server must not return the fleet to a rootless state (T12).
 */
function rootOf(
  known: TrustedRoot | null,
  { fleet_id, root_version, root_sha256 }: KeySetPayload,
  documents: readonly unknown[],
): { ok: true; root: TrustedRoot | undefined } | { ok: false; reason: KeySetRefusal } {
  if (root_version === undefined && root_sha256 === undefined) {
    return known === null ? { ok: true, root: undefined } : { ok: false, reason: 'root_missing' };
  }
  if (root_version === undefined || root_sha256 === undefined) return { ok: false, reason: 'malformed' };
  return followRoot(known, { fleetId: fleet_id, version: root_version, sha256: root_sha256 }, documents);
}

function bringsNewKey(current: TrustedKeySet, { keys }: KeySetPayload): boolean {
  const known = new Set(current.keys.map((key) => key.key_id));
  return keys.some((key) => !isRevoked(key) && !known.has(key.key_id));
}

/** The unverified content: use it only to select the keys to verify with. */
export function claimedKeySet(envelope: unknown): KeySetPayload | null {
  if (typeof envelope !== 'object' || envelope === null || !('payload' in envelope)) return null;
  if (typeof envelope.payload !== 'string') return null;
  return parseKeySet(Buffer.from(envelope.payload, 'base64'));
}

function claimedKeys(envelope: unknown): TrustedKey[] | null {
  const payload = claimedKeySet(envelope);
  if (payload === null || !payload.keys.every(isUsable)) return null;
  return payload.keys
    .filter((key) => key.status === 'active')
    .map((key) => loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
}

function mergeKeySet(
  known: readonly SigningKeyEntry[],
  payload: KeySetPayload,
  { nowMs, root }: { nowMs: number | null; root: TrustedRoot | undefined },
): KeySetOutcome {
  if (nowMs !== null && isExpired(payload, nowMs)) return { ok: false, reason: 'expired' };
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
  // A revoked key stays revoked when a later set omits it.
  const remembered = known.filter((key) => isRevoked(key) && !ids.has(key.key_id));
  const { fleet_id, version, expires_at } = payload;
  const keys = [...payload.keys, ...remembered];
  return { ok: true, keys: { fleet_id, version, expires_at, keys, ...(root && { root }) } };
}

export function isExpired({ expires_at }: Pick<KeySetPayload, 'expires_at'>, nowMs: number): boolean {
  return Date.parse(expires_at) <= nowMs;
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
