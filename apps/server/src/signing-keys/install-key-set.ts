import { Envelope, KEYSET_TYPE, KeySetPayload, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { SigningKey } from '@tidegate/signing/sign';
import { signersOf } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { keySetBytes, VOUCHERS_MAX, withVouchers } from './key-set.ts';
import { noteNewKey } from './new-key.ts';
import { namedRoot, type Root, rootSigners } from './read-root.ts';
import {
  insertKeySet,
  listKeys,
  lockFleet,
  newestKeySet,
  readFleet,
  rootsAfter,
  type SigningKeyRow,
  setFirstKeySet,
} from './store.ts';
import { claimedSet, nextEntries, type StandingSet, standingSet } from './vouched-keys.ts';

/** A document that waits for the signatures of the root's holders: an envelope that may have none yet. */
export interface UnsignedEnvelope {
  payloadType: string;
  payload: string;
  signatures: Envelope['signatures'];
}

export type PendingOutcome =
  | {
      kind: 'pending';
      document: UnsignedEnvelope;
      version: number;
      waiting: SigningKeyRow[];
      threshold: number;
    }
  | { kind: 'no_root' | 'nothing_waits' };

/** Whether no key set has this key yet, because the root's holders have not signed one with it. */
export function awaitsRoot(row: SigningKeyRow): boolean {
  return row.status === 'active' && row.first_key_set_version === 0;
}

/** The next key set with every waiting key, for the root's holders to sign; it counts once installed. */
export async function pendingKeySet(
  db: Db,
  { held, now }: { held: readonly SigningKey[]; now: number },
): Promise<PendingOutcome> {
  const fleet = await readFleet(db);
  const next = await nextSet(db, held);
  if (!fleet || !next) return { kind: 'no_root' };
  const waiting = next.rows.filter(awaitsRoot);
  if (waiting.length === 0) return { kind: 'nothing_waits' };
  const { version, root } = next;
  const keys = next.keysWith(waiting.map(({ key_id }) => key_id));
  const facts = { fleetId: fleet.fleet_id, version, keys, root: nameOf(root), now };
  const payload = keySetBytes(facts).toString('base64');
  const document = { payloadType: KEYSET_TYPE, payload, signatures: [] };
  return { kind: 'pending', document, version, waiting, threshold: root.payload.threshold };
}

export type InstallKeySetOutcome =
  | { kind: 'installed'; version: number; keys: SigningKeyRow[] }
  | { kind: 'not_enough_signatures'; signed: number; threshold: number }
  | { kind: 'no_root' | 'malformed' | 'wrong_fleet' | 'outdated' | 'expired' };

/**
 * Installs a key set that a threshold of the root signed, if it equals the currently pending one: later
 * changes, above all revocations, must be in it. The server's keys sign it as well.
 */
export async function installKeySet(
  tx: Tx,
  platform: Platform,
  {
    envelope,
    held,
    actor,
  }: { envelope: unknown; held: readonly [SigningKey, ...SigningKey[]]; actor: string },
): Promise<InstallKeySetOutcome> {
  const fleet = await lockFleet(tx);
  const next = await nextSet(tx, held);
  if (!next) return { kind: 'no_root' };
  if (!Value.Check(Envelope, envelope)) return { kind: 'malformed' };
  const { threshold } = next.root.payload;
  const signed = rootSigners(next.root, envelope, KEYSET_TYPE).length;
  if (signed < threshold) return { kind: 'not_enough_signatures', signed, threshold };
  const bytes = Buffer.from(envelope.payload, 'base64');
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok || !Value.Check(KeySetPayload, parsed.value)) return { kind: 'malformed' };
  const payload = parsed.value;
  if (payload.fleet_id !== fleet.fleet_id) return { kind: 'wrong_fleet' };
  const now = platform.now();
  if (Date.parse(payload.expires_at) <= now) return { kind: 'expired' };
  const brought = next.rows.filter(
    (row) => awaitsRoot(row) && payload.keys.some((key) => key.key_id === row.key_id),
  );
  if (!isTheOneAskedFor(payload, next, brought)) return { kind: 'outdated' };

  const ceremony = rootSignatures(next.root, envelope);
  const stored = withVouchers(held, bytes, ceremony);
  await insertKeySet(tx, {
    version: payload.version,
    envelope: JSON.stringify(stored),
    signed_by: held[0].keyId,
    issued_at: now,
    expires_at: Date.parse(payload.expires_at),
  });
  for (const row of brought) {
    await setFirstKeySet(tx, { keyId: row.key_id, version: payload.version });
    await noteNewKey(tx, platform, { row, actor, how: { root_version: next.root.payload.version } });
  }
  return { kind: 'installed', version: payload.version, keys: brought };
}

interface NextSet {
  version: number;
  root: Root;
  rows: SigningKeyRow[];
  keysWith(added: readonly string[]): SigningKeyEntry[];
}

/**
 * The contents of the next set. If no held key signed the newest, for example after all were lost, its claims
 * are accepted: the root's holders see what they sign, and agents judge it by the root that they know.
 */
async function nextSet(db: Db, held: readonly SigningKey[]): Promise<NextSet | null> {
  const newest = await newestKeySet(db);
  const verified = standingSet(newest, held);
  const standing: StandingSet = verified.entries.size > 0 ? verified : claimedSet(newest);
  const root = namedRoot(await rootsAfter(db, 0), standing.root);
  if (!newest || !root) return null;
  const rows = await listKeys(db);
  const known = { entries: standing.entries, held, hasRoot: true };
  return {
    version: newest.version + 1,
    root,
    rows,
    keysWith: (added) => nextEntries(rows, { ...known, added }),
  };
}

function isTheOneAskedFor(payload: KeySetPayload, next: NextSet, brought: readonly SigningKeyRow[]): boolean {
  const { version, sha256 } = nameOf(next.root);
  if (payload.version !== next.version) return false;
  if (payload.root_version !== version || payload.root_sha256 !== sha256) return false;
  const expected = next.keysWith(brought.map(({ key_id }) => key_id));
  return JSON.stringify(payload.keys) === JSON.stringify(expected);
}

/** One valid signature per root key; other signatures in the file are ignored. */
function rootSignatures(root: Root, envelope: Envelope): Envelope['signatures'] {
  const found = new Map<string, Envelope['signatures'][number]>();
  for (const signature of envelope.signatures) {
    const [signer] = signersOf({ ...envelope, signatures: [signature] }, root.keys, KEYSET_TYPE);
    if (signer && !found.has(signer.publicKeyHex)) found.set(signer.publicKeyHex, signature);
  }
  return [...found.values()].slice(0, VOUCHERS_MAX);
}

function nameOf({ payload, sha256 }: Root): { version: number; sha256: string } {
  return { version: payload.version, sha256 };
}
