import { KEYSET_TYPE, KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { SigningKey } from '@tidegate/signing/sign';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { SigningKeyRow } from './store.ts';

/** What the newest key set says of each key, by key id. */
export type Entries = ReadonlyMap<string, SigningKeyEntry>;

/**
 * Reads the stored key set, which counts only where a key signed it whose private half this server holds: whoever
 * writes to the database can store another one. Empty where there is none, or none that counts.
 */
export function entriesOf(stored: { envelope: string } | null, held: readonly SigningKey[]): Entries {
  const entries = new Map<string, SigningKeyEntry>();
  const envelope = stored === null ? null : parseStrictJson(stored.envelope);
  if (!envelope?.ok) return entries;
  const keys = held.map(({ keyId, publicKeyHex }) => loadTrustedKey({ keyId, publicKeyHex }));
  const verified = verifyEnvelope(envelope.value, keys, KEYSET_TYPE);
  const payload = verified.ok ? parseStrictJson(verified.payload) : null;
  if (!payload?.ok || !Value.Check(KeySetPayload, payload.value)) return entries;
  for (const entry of payload.value.keys) entries.set(entry.key_id, entry);
  return entries;
}

/**
 * The keys of the next set: every row that may stand in it, and every revocation of the set before, which is forward
 * only whatever has become of the row. `added` is the one key that comes in now.
 */
export function nextEntries(
  rows: readonly SigningKeyRow[],
  known: { entries: Entries; held: readonly SigningKey[]; added: string | null },
): SigningKeyEntry[] {
  const revoked = [...known.entries.values()].filter((entry) => entry.status === 'revoked');
  const standing = rows.filter((row) => known.entries.get(row.key_id)?.status !== 'revoked');
  const vouched = standing.filter((row) => row.key_id === known.added || isVouched(row, known));
  return [...vouched.map(entryOf), ...revoked].sort((a, b) => b.version - a.version);
}

/**
 * Whether a row may stand in a key set (design reading 11): the set before has it with the same public half and has
 * not revoked it, or the server holds its private half. A row that was added or changed by hand is neither, so no
 * renewal of the set ever vouches for it.
 */
function isVouched(
  row: SigningKeyRow,
  { entries, held }: { entries: Entries; held: readonly SigningKey[] },
): boolean {
  const entry = entries.get(row.key_id);
  if (!entry) return held.some((key) => key.keyId === row.key_id && key.publicKeyHex === row.public_key_hex);
  if (entry.public_key_hex !== row.public_key_hex) return false;
  return entry.status === 'active' || row.status === 'revoked';
}

/** Whether a key set is due: a row was revoked by hand (R4), or one was added whose private half is held. */
export function lagsBehind(
  rows: readonly SigningKeyRow[],
  known: { entries: Entries; held: readonly SigningKey[] },
): boolean {
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
