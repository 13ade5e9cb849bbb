import { Envelope, KEYSET_TYPE, KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { SigningKey } from '@tidegate/signing/sign';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { SigningKeyRow } from './store.ts';

/** The newest key set's entries, by key id. */
export type Entries = ReadonlyMap<string, SigningKeyEntry>;

/** The contents of the newest key set: its keys, and the root that it names. */
export interface StandingSet {
  entries: Entries;
  root: { version: number; sha256: string } | null;
}

const NOTHING: StandingSet = { entries: new Map(), root: null };

/**
 * Reads the stored key set, which counts only if a key signed it whose private half this server holds,
 * because a database writer can store a different one. Empty if there is none, or none that counts.
 */
export function standingSet(stored: { envelope: string } | null, held: readonly SigningKey[]): StandingSet {
  const envelope = stored === null ? null : parseStrictJson(stored.envelope);
  if (!envelope?.ok) return NOTHING;
  const keys = held.map(({ keyId, publicKeyHex }) => loadTrustedKey({ keyId, publicKeyHex }));
  const verified = verifyEnvelope(envelope.value, keys, KEYSET_TYPE);
  return verified.ok ? contentOf(verified.payload) : NOTHING;
}

/**
 * The same for a set that no held key signed: the root's holders sign its contents after every private half
 * was lost. They and the agents judge it; nothing else is issued from it.
 */
export function claimedSet(stored: { envelope: string } | null): StandingSet {
  const envelope: unknown = stored === null ? null : JSON.parse(stored.envelope);
  if (!Value.Check(Envelope, envelope)) return NOTHING;
  return contentOf(Buffer.from(envelope.payload, 'base64'));
}

function contentOf(bytes: Uint8Array): StandingSet {
  const payload = parseStrictJson(bytes);
  if (!payload.ok || !Value.Check(KeySetPayload, payload.value)) return NOTHING;
  const { keys, root_version, root_sha256 } = payload.value;
  const isRooted = root_version !== undefined && root_sha256 !== undefined;
  return {
    entries: new Map(keys.map((entry) => [entry.key_id, entry])),
    root: isRooted ? { version: root_version, sha256: root_sha256 } : null,
  };
}

/** The known keys of a fleet when the next set is created. */
export interface Known {
  entries: Entries;
  held: readonly SigningKey[];
  /** With a root, only the root's signatures introduce a key that the previous set does not have. */
  hasRoot: boolean;
}

/**
 * The keys of the next set: every allowed row, and every revocation of the previous set, which is
 * forward-only whatever happened to the row. `added` are the keys introduced now.
 */
export function nextEntries(
  rows: readonly SigningKeyRow[],
  known: Known & { added: readonly string[] },
): SigningKeyEntry[] {
  const revoked = [...known.entries.values()].filter((entry) => entry.status === 'revoked');
  const standing = rows.filter((row) => known.entries.get(row.key_id)?.status !== 'revoked');
  const vouched = standing.filter((row) => known.added.includes(row.key_id) || isVouched(row, known));
  return [...vouched.map(entryOf), ...revoked].sort((a, b) => b.version - a.version);
}

/**
 * Whether a row may be in a key set (design reading 11): the previous set has it with the same public half
 * and has not revoked it, or the server holds its private half. A row added or changed by hand has neither,
 * so no renewal of the set ever vouches for it.
 */
function isVouched(row: SigningKeyRow, { entries, held, hasRoot }: Known): boolean {
  const entry = entries.get(row.key_id);
  if (!entry && hasRoot) return false;
  if (!entry) return held.some((key) => key.keyId === row.key_id && key.publicKeyHex === row.public_key_hex);
  if (entry.public_key_hex !== row.public_key_hex) return false;
  return entry.status === 'active' || row.status === 'revoked';
}

/** Whether a key set is due: a row was revoked by hand (R4), or one was added whose private half is held. */
export function lagsBehind(rows: readonly SigningKeyRow[], known: Known): boolean {
  return rows.some((row) => isVouched(row, known) && known.entries.get(row.key_id)?.status !== row.status);
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
