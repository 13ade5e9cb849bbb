import { Envelope, type ServerKey, STATE_TYPE, type StatePayload } from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import { Value } from 'typebox/value';
import { headHash } from '../events/store.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { issueKeySet } from './change-keys.ts';
import { KEY_SET_RENEWAL_MS, type Vouchers, vouchersOf } from './key-set.ts';
import { listKeys, newestKeySet, readFleet, type SigningKeyRow } from './store.ts';

/** The state document is signed at most once in this time, for the whole fleet. */
export const STATE_MAX_AGE_MS = 10_000;

export interface KeyRing {
  readonly fleetId: string;
  epoch(): number;
  /** The key in use. */
  signer(): { keyId: string; keyVersion: number; sign(payloadType: string, bytes: Uint8Array): Envelope };
  isActive(keyId: string): boolean;
  keySet(): { version: number; envelope: Envelope; keys: ServerKey[] };
  /** The signed state document as JSON text, at most STATE_MAX_AGE_MS old and newer than the last change of a key. */
  state(): Promise<string>;
  rows(): readonly SigningKeyRow[];
  held(keyId: string): SigningKey | null;
  hold(key: SigningKey): void;
  /** The keys that sign the next key set. */
  vouchers(): Vouchers;
  /** Reads the keys again, after a change here or (by `state`) in another replica. */
  reload(): Promise<void>;
}

/** Opens the ring over the private halves that `loadKeys` found. */
export async function openKeyRing(
  platform: Platform,
  { fleetId, held }: { fleetId: string; held: Map<string, SigningKey> },
): Promise<KeyRing> {
  let loaded = await load(platform, held);
  let state: { text: string; signedAtMs: number } | null = null;
  let signing: Promise<string> | null = null;

  async function reload(): Promise<void> {
    loaded = await load(platform, held);
    state = null;
  }

  async function signState(): Promise<string> {
    const now = platform.now();
    loaded = await load(platform, held);
    const payload: StatePayload = {
      v: 1,
      fleet_id: fleetId,
      server_time: rfc3339Seconds(now),
      epoch: loaded.epoch,
      key_set_version: loaded.keySetVersion,
      events_head: await headHash(platform.database.read),
    };
    const text = JSON.stringify(
      signEnvelope(loaded.signer, STATE_TYPE, Buffer.from(JSON.stringify(payload))),
    );
    state = { text, signedAtMs: now };
    return text;
  }

  return {
    fleetId,
    epoch: () => loaded.epoch,
    signer: () => ({
      keyId: loaded.signer.keyId,
      keyVersion: loaded.signerVersion,
      sign: (payloadType, bytes) => signEnvelope(loaded.signer, payloadType, bytes),
    }),
    isActive: (keyId) => loaded.rows.some((row) => row.key_id === keyId && row.status === 'active'),
    keySet: () => ({ version: loaded.keySetVersion, envelope: loaded.keySet, keys: loaded.serverKeys }),
    async state() {
      const age = state ? platform.now() - state.signedAtMs : Number.POSITIVE_INFINITY;
      if (state && age >= 0 && age < STATE_MAX_AGE_MS) return state.text;
      signing ??= signState().finally(() => {
        signing = null;
      });
      return signing;
    },
    rows: () => loaded.rows,
    held: (keyId) => held.get(keyId) ?? null,
    vouchers: () => vouchersOf(loaded.signer, held),
    hold: (key) => void held.set(key.keyId, key),
    reload,
  };
}

interface Loaded {
  rows: SigningKeyRow[];
  epoch: number;
  signer: SigningKey;
  signerVersion: number;
  keySet: Envelope;
  keySetVersion: number;
  serverKeys: ServerKey[];
}

async function load(platform: Platform, held: Map<string, SigningKey>): Promise<Loaded> {
  const db = platform.database.read;
  const [rows, fleet] = [await listKeys(db), await readFleet(db)];
  const current = rows.find((row) => row.in_use === 1);
  const signer = current && held.get(current.key_id);
  if (!fleet || !current || !signer) throw new Error('the signing key in use is not held by this server');
  let stored = await newestKeySet(db);
  if (!stored || stored.expires_at - platform.now() < KEY_SET_RENEWAL_MS) {
    await platform.database.transact((tx) => issueKeySet(tx, platform, vouchersOf(signer, held)));
    stored = await newestKeySet(db);
  }
  const keySet: unknown = stored && JSON.parse(stored.envelope);
  if (!stored || !Value.Check(Envelope, keySet)) throw new Error('the stored key set is not an envelope');
  return {
    rows,
    epoch: fleet.epoch,
    signer,
    signerVersion: current.version,
    keySet,
    keySetVersion: stored.version,
    serverKeys: rows.flatMap(activeKey),
  };
}

function activeKey(row: SigningKeyRow): ServerKey[] {
  if (row.status !== 'active') return [];
  const { key_id, version, public_key_hex } = row;
  return [{ key_id, version, public_key_hex, status: 'active', created_at: rfc3339Seconds(row.created_at) }];
}
