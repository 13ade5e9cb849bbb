import { createHash } from 'node:crypto';
import { KEYSET_TYPE, KeySetPayload } from '@tidegate/protocol/documents';
import { ROOT_TYPE } from '@tidegate/protocol/root-document';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { loadTrustedKey, signersOf, type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Compile } from 'typebox/compile';
import { type Root, readRoot, rootSigners } from '../signing-keys/read-root.ts';
import { FaultyBundle } from './verify-fault.ts';

/** Public keys of the fleet, and SHA-256 of root documents, in hex: what the verifier knows on another way. */
export interface Pins {
  readonly values: ReadonlySet<string>;
}

/** The keys of the newest key set, and when the revoked ones ended. */
export interface FleetKeys {
  readonly fleetId: string;
  readonly keys: readonly TrustedKey[];
  readonly revokedAtMs: ReadonlyMap<string, number>;
  readonly keySetVersion: number;
  /** Key sets before the first that a pin vouches for. */
  readonly before: number;
}

export interface KeyLine {
  readonly value: unknown;
  readonly file: string;
  readonly line: number;
}

const keySets = Compile(KeySetPayload);

/**
 * Walks the key sets, the oldest first. The first that counts is signed by a pinned key or by a pinned root; from then on
 * each is signed by an active key of the one before, and with a root a new key by the root's threshold.
 */
export function vouchKeys(lines: Iterable<KeyLine>, { values: pins }: Pins): FleetKeys {
  const pinned = [...pins].flatMap(soundKey);
  const roots = new Map<string, Root>();
  let trustedRoot: Root | null = null;
  let standing: { payload: KeySetPayload; version: number } | null = null;
  let before = 0;
  let last: Omit<KeyLine, 'value'> = { file: 'keys/0001.ndjson', line: 1 };

  for (const { value, file, line } of lines) {
    const at = { line };
    last = { file, line };
    if (has(value, 'root')) {
      const read = readRoot(value.root);
      if (!read.ok)
        throw new FaultyBundle(file, `is no root document: ${read.fault}`, { ...at, field: 'root' });
      const { root } = read;
      roots.set(root.sha256, root);
      if (trustedRoot === null) trustedRoot = pins.has(root.sha256) ? root : null;
      else if (follows(trustedRoot, root)) trustedRoot = root;
      else
        throw new FaultyBundle(file, 'the root before it did not sign this root', { ...at, field: 'root' });
      continue;
    }
    if (!has(value, 'key_set')) throw new FaultyBundle(file, 'is neither a root nor a key set', at);
    const envelope = value.key_set;
    const field = 'key_set';
    const rooted = trustedRoot !== null && isRooted(trustedRoot, envelope);
    const vouching: TrustedKey[] = [
      ...pinned.filter(({ publicKeyHex }) => !isRevoked(standing?.payload ?? null, publicKeyHex)),
      ...(standing === null ? [] : activeKeys(standing.payload)),
      ...(rooted ? (trustedRoot?.keys ?? []) : []),
    ];
    const verified = verifyEnvelope(envelope, vouching, KEYSET_TYPE);
    if (!verified.ok) {
      if (standing === null) {
        before++;
        continue;
      }
      throw new FaultyBundle(file, 'no key of the set before it signed this key set', { ...at, field });
    }
    const parsed = parseStrictJson(verified.payload);
    if (!parsed.ok || !keySets.Check(parsed.value))
      throw new FaultyBundle(file, 'the signed text is no key set', { ...at, field });
    const payload = parsed.value;
    if (standing !== null) {
      if (payload.version <= standing.version || payload.fleet_id !== standing.payload.fleet_id)
        throw new FaultyBundle(file, 'does not follow the key set before it', { ...at, field });
      if (trustedRoot !== null && !rooted && bringsKey(standing.payload, payload))
        throw new FaultyBundle(file, 'the root did not sign for its new key', { ...at, field });
    }
    standing = { payload, version: payload.version };
    trustedRoot ??= roots.get(payload.root_sha256 ?? '') ?? null;
  }
  if (standing === null)
    throw new FaultyBundle(last.file, 'no key set is signed by a pinned key or root', { line: last.line });
  return {
    ...keysOf(standing.payload),
    fleetId: standing.payload.fleet_id,
    keySetVersion: standing.version,
    before,
  };
}

function has<K extends string>(value: unknown, name: K): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

function follows(last: Root, next: Root): boolean {
  if (next.payload.version !== last.payload.version + 1) return false;
  if (next.payload.fleet_id !== last.payload.fleet_id) return false;
  return rootSigners(last, next.envelope, ROOT_TYPE).length >= last.payload.threshold;
}

function isRooted(root: Root, envelope: unknown): boolean {
  return signersOf(envelope, root.keys, KEYSET_TYPE).length >= root.payload.threshold;
}

function bringsKey(last: KeySetPayload, next: KeySetPayload): boolean {
  const known = new Set(last.keys.map(({ public_key_hex }) => public_key_hex));
  return next.keys.some(({ public_key_hex: key }) => !known.has(key));
}

function isRevoked(standing: KeySetPayload | null, hex: string): boolean {
  return standing?.keys.some((key) => key.public_key_hex === hex && key.status === 'revoked') ?? false;
}

function activeKeys({ keys }: KeySetPayload): TrustedKey[] {
  return keys.filter(({ status }) => status === 'active').map(load);
}

function keysOf({ keys }: KeySetPayload): Pick<FleetKeys, 'keys' | 'revokedAtMs'> {
  const revoked = keys.filter(({ status }) => status === 'revoked');
  return {
    keys: keys.map(load),
    revokedAtMs: new Map(
      revoked.map(({ key_id, revoked_at }) => [key_id, revoked_at === null ? 0 : Date.parse(revoked_at)]),
    ),
  };
}

function load({ key_id, public_key_hex }: { key_id: string; public_key_hex: string }): TrustedKey {
  return loadTrustedKey({ keyId: key_id, publicKeyHex: public_key_hex });
}

/** A pin may also be the digest of a root, which is seldom a point of the curve. */
function soundKey(hex: string): TrustedKey[] {
  try {
    return [loadTrustedKey({ keyId: `pin:${sha(hex)}`, publicKeyHex: hex })];
  } catch {
    return [];
  }
}

function sha(hex: string): string {
  return createHash('sha256').update(hex).digest('hex').slice(0, 16);
}
