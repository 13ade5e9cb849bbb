import { KEYSET_TYPE, KeySetPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { loadSigningKey } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import type { Config } from '../config.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { KeyFolder } from './key-folder.ts';
import {
  insertKey,
  insertKeySet,
  insertRoot,
  type KeySetRow,
  listKeys,
  newestKeySet,
  type RootRow,
  readFleet,
  revokeKey,
  rootsAfter,
  setKeyInUse,
} from './store.ts';

/** Public halves whose private halves are in the key folder or the environment; skips damaged files. */
export function heldPublicKeys(
  config: Pick<Config, 'signingPrivateKey' | 'signingPreviousPrivateKey'>,
  folder: Pick<KeyFolder, 'readAll'>,
): ReadonlySet<string> {
  const held = new Set<string>();
  const keep = (read: () => string[]) => {
    try {
      for (const publicKeyHex of read()) held.add(publicKeyHex);
    } catch (error) {
      // `loadKeys` runs next and reports the fault.
      if (!(error instanceof KeyError)) throw error;
    }
  };
  keep(() => folder.readAll().map((key) => key.publicKeyHex));
  for (const privateKeyHex of [config.signingPrivateKey, config.signingPreviousPrivateKey]) {
    if (privateKeyHex === null) continue;
    keep(() => [loadSigningKey({ keyId: 'environment', privateKeyHex }).publicKeyHex]);
  }
  return held;
}

/** State kept outside of the database. */
export interface RememberedSets {
  key_sets: readonly KeySetRow[];
  roots: readonly RootRow[];
}

/**
 * Restores key sets that are newer than a restored database's, with the newest one's missing keys,
 * revocations and active key. They count only if a key whose private half is present signed the newest.
 * Returns how many keys were added or changed.
 */
export async function recallKeySets(
  tx: Tx,
  { remembered, held }: { remembered: RememberedSets; held: ReadonlySet<string> },
): Promise<number> {
  const stored = (await newestKeySet(tx))?.version ?? 0;
  const missing = remembered.key_sets
    .filter((one) => one.version > stored)
    .toSorted((a, b) => a.version - b.version);
  const keySet = missing.at(-1);
  if (!keySet) return 0;
  const fleet = await readFleet(tx);
  const payload = verified(keySet.envelope, held);
  if (!payload || payload.fleet_id !== fleet?.fleet_id) return 0;
  const rows = await listKeys(tx);
  let changed = 0;
  for (const { key_id, version, public_key_hex, status, created_at, revoked_at } of payload.keys) {
    const row = rows.find((one) => one.key_id === key_id);
    const revokedAtMs = revoked_at === null ? null : Date.parse(revoked_at);
    if (!row) {
      if (rows.some((one) => one.version === version || one.public_key_hex === public_key_hex)) continue;
      const at = { created_at: Date.parse(created_at), revoked_at: revokedAtMs };
      const key = { key_id, version, public_key_hex, status, ...at };
      await insertKey(tx, { ...key, in_use: 0, first_key_set_version: keySet.version });
      changed++;
    }
  }
  const newestRoot = (await rootsAfter(tx, 0)).at(-1)?.version ?? 0;
  for (const root of remembered.roots) {
    if (root.version > newestRoot) await insertRoot(tx, root);
  }
  for (const one of missing) await insertKeySet(tx, one);
  const signer = (await listKeys(tx)).find((one) => one.key_id === keySet.signed_by);
  if (signer?.status === 'active' && signer.in_use === 0) {
    await setKeyInUse(tx, signer.key_id);
    changed++;
  }
  for (const { key_id, status, revoked_at } of payload.keys) {
    if (status !== 'revoked') continue;
    const now = revoked_at === null ? keySet.issued_at : Date.parse(revoked_at);
    if (await revokeKey(tx, { keyId: key_id, now })) changed++;
  }
  return changed;
}

/**
 * Revokes a key that the database has as active. If it is in use, the newest other key whose private half is
 * present replaces it; `stuck` if there is none.
 */
export async function revokeAgain(
  tx: Tx,
  { keyId, atMs, held }: { keyId: string; atMs: number; held: ReadonlySet<string> },
): Promise<{ kind: 'revoked' } | { kind: 'stuck'; version: number }> {
  const rows = await listKeys(tx);
  const key = rows.find((row) => row.key_id === keyId);
  if (key?.in_use === 1) {
    const next = rows.find(
      (row) => row.key_id !== keyId && row.status === 'active' && held.has(row.public_key_hex),
    );
    if (!next) return { kind: 'stuck', version: key.version };
    await setKeyInUse(tx, next.key_id);
  }
  await revokeKey(tx, { keyId, now: atMs });
  return { kind: 'revoked' };
}

function verified(text: string, held: ReadonlySet<string>): KeySetPayload | null {
  const envelope = parseStrictJson(text);
  if (!envelope.ok) return null;
  // Unverified, only to learn the ids of our own keys in it.
  const claimed = claimedPayload(envelope.value);
  const ours = (claimed?.keys ?? []).filter((key) => held.has(key.public_key_hex));
  const keys = ours.map((key) => loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
  const opened = verifyEnvelope(envelope.value, keys, KEYSET_TYPE);
  return opened.ok ? payloadOf(opened.payload) : null;
}

function claimedPayload(envelope: unknown): KeySetPayload | null {
  if (typeof envelope !== 'object' || envelope === null || !('payload' in envelope)) return null;
  return typeof envelope.payload === 'string' ? payloadOf(Buffer.from(envelope.payload, 'base64')) : null;
}

function payloadOf(bytes: Uint8Array): KeySetPayload | null {
  const parsed = parseStrictJson(bytes);
  return parsed.ok && Value.Check(KeySetPayload, parsed.value) ? parsed.value : null;
}
