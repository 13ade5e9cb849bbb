import {
  Envelope,
  type ServerKey,
  type SigningKeyEntry,
  STATE_TYPE,
  type StatePayload,
} from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import { Value } from 'typebox/value';
import { readHead } from '../events/store.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { issueKeySet } from './change-keys.ts';
import type { KeyFolder } from './key-folder.ts';
import { KEY_SET_RENEWAL_MS, type Vouchers, vouchersOf } from './key-set.ts';
import { namedRoot } from './read-root.ts';
import { listKeys, newestKeySet, readFleet, rootsAfter, type SigningKeyRow } from './store.ts';
import { type Entries, lagsBehind, standingSet } from './vouched-keys.ts';

/** The state document is signed at most once in this time, for the whole fleet. */
export const STATE_MAX_AGE_MS = 10_000;

export interface KeyRing {
  readonly fleetId: string;
  epoch(): number;
  /** The active signing key. */
  signer(): { keyId: string; keyVersion: number; sign(payloadType: string, bytes: Uint8Array): Envelope };
  /** Whether the newest key set has the key and it is not revoked. */
  isActive(keyId: string): boolean;
  keySet(): { version: number; envelope: Envelope; keys: ServerKey[]; root: Envelope | null };
  /** The signed state document as JSON text, at most STATE_MAX_AGE_MS old, newer than the last key change. */
  state(): Promise<string>;
  /** The same if it is fresh; null if it must be signed anew. */
  freshState(): string | null;
  /** Every key of the newest key set, also revoked ones. */
  entries(): readonly SigningKeyEntry[];
  /** Every row of the table, also those that no key set vouches for. */
  rows(): readonly SigningKeyRow[];
  held(keyId: string): SigningKey | null;
  hold(key: SigningKey): void;
  /** The keys that sign the next key set, starting with the active one unless another is given. */
  vouchers(first?: SigningKey): Vouchers;
  /** Reads the keys again, after a change here or (by `state`) in another replica. */
  reload(): Promise<void>;
}

/** Opens the ring over the private halves that `loadKeys` found. */
export async function openKeyRing(
  platform: Platform,
  { fleetId, held, keyFolder }: { fleetId: string; held: Map<string, SigningKey>; keyFolder: KeyFolder },
): Promise<KeyRing> {
  const load = () => loadRing(platform, { held, keyFolder });
  let loaded = await load();
  let state: { text: string; signedAtMs: number } | null = null;
  let signing: Promise<string> | null = null;
  const warnedOf = new Set<string>();
  warnOfStrangers();

  async function reload(): Promise<void> {
    loaded = await load();
    warnOfStrangers();
    state = null;
  }

  function warnOfStrangers(): void {
    for (const { key_id, status, version } of loaded.rows) {
      if (status !== 'active' || warnedOf.has(key_id)) continue;
      if (loaded.serverKeys.some((key) => key.key_id === key_id)) continue;
      warnedOf.add(key_id);
      platform.log.warn(
        'a signing key was added to the table by hand: no key set lists it and no host trusts it',
        {
          key_id,
          version,
        },
      );
    }
  }

  async function signState(): Promise<string> {
    const now = platform.now();
    loaded = await load();
    warnOfStrangers();
    const payload: StatePayload = {
      v: 1,
      fleet_id: fleetId,
      server_time: rfc3339Seconds(now),
      epoch: loaded.epoch,
      key_set_version: loaded.keySetVersion,
      events_head: await readHead(platform.database.read),
    };
    const text = JSON.stringify(
      signEnvelope(loaded.signer, STATE_TYPE, Buffer.from(JSON.stringify(payload))),
    );
    state = { text, signedAtMs: now };
    return text;
  }

  function freshState(): string | null {
    if (!state) return null;
    const ageMs = platform.now() - state.signedAtMs;
    return ageMs >= 0 && ageMs < STATE_MAX_AGE_MS ? state.text : null;
  }

  return {
    fleetId,
    epoch: () => loaded.epoch,
    signer: () => ({
      keyId: loaded.signer.keyId,
      keyVersion: loaded.signerVersion,
      sign: (payloadType, bytes) => signEnvelope(loaded.signer, payloadType, bytes),
    }),
    isActive: (keyId) => loaded.serverKeys.some((key) => key.key_id === keyId),
    entries: () => loaded.entries,
    keySet: () => {
      const { keySetVersion: version, keySet: envelope, serverKeys: keys, root } = loaded;
      return { version, envelope, keys, root };
    },
    freshState,
    async state() {
      const fresh = freshState();
      if (fresh !== null) return fresh;
      signing ??= signState().finally(() => {
        signing = null;
      });
      return signing;
    },
    rows: () => loaded.rows,
    held: (keyId) => held.get(keyId) ?? null,
    vouchers: (first = loaded.signer) => vouchersOf(first, held),
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
  root: Envelope | null;
  entries: readonly SigningKeyEntry[];
  serverKeys: ServerKey[];
}

async function loadRing(
  platform: Platform,
  { held, keyFolder }: { held: Map<string, SigningKey>; keyFolder: KeyFolder },
): Promise<Loaded> {
  const db = platform.database.read;
  const [rows, fleet] = [await listKeys(db), await readFleet(db)];
  holdFound(rows, held, keyFolder);
  const current = rows.find((row) => row.in_use === 1);
  const signer = current && held.get(current.key_id);
  if (!fleet || !current || !signer) throw new Error('the signing key in use is not held by this server');
  const vouchers = vouchersOf(signer, held);
  let stored = await newestKeySet(db);
  let standing = standingSet(stored, vouchers);
  const isDue = !stored || stored.expires_at - platform.now() < KEY_SET_RENEWAL_MS;
  const known = { entries: standing.entries, held: vouchers, hasRoot: standing.root !== null };
  if (isDue || lagsBehind(rows, known)) {
    await platform.database.transact((tx) => issueKeySet(tx, platform, { vouchers }));
    stored = await newestKeySet(db);
    standing = standingSet(stored, vouchers);
  }
  const keySet: unknown = stored && JSON.parse(stored.envelope);
  if (!stored || !Value.Check(Envelope, keySet)) throw new Error('the stored key set is not an envelope');
  const root =
    standing.root === null ? null : namedRoot(await rootsAfter(db, standing.root.version - 1), standing.root);
  return {
    rows,
    epoch: fleet.epoch,
    signer,
    signerVersion: current.version,
    keySet,
    keySetVersion: stored.version,
    root: root?.envelope ?? null,
    entries: [...standing.entries.values()],
    serverKeys: rows.flatMap((row) => activeKey(row, standing.entries)),
  };
}

/** Loads private halves that another process, such as `tidegate keys`, has added to the key folder since. */
function holdFound(
  rows: readonly SigningKeyRow[],
  held: Map<string, SigningKey>,
  keyFolder: KeyFolder,
): void {
  if (rows.every((row) => row.status === 'revoked' || held.has(row.key_id))) return;
  for (const key of keyFolder.readSound()) {
    const row = rows.find(({ key_id }) => key_id === key.keyId);
    if (row?.status === 'active' && row.public_key_hex === key.publicKeyHex && !held.has(key.keyId)) {
      held.set(key.keyId, key);
    }
  }
}

/** A row as sent to agents: it is in the key set, and neither is revoked. */
function activeKey(row: SigningKeyRow, entries: Entries): ServerKey[] {
  const { key_id, version, public_key_hex, status } = row;
  const entry = entries.get(key_id);
  if (status !== 'active' || entry?.status !== 'active' || entry.public_key_hex !== public_key_hex) return [];
  return [{ key_id, version, public_key_hex, status, created_at: rfc3339Seconds(row.created_at) }];
}
