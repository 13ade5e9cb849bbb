import { generatePrivateKeyHex, loadSigningKey, type SigningKey } from '@tidegate/signing/sign';
import { KeyError } from '@tidegate/signing/verify';
import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import { addKey } from './change-keys.ts';
import type { KeyFolder } from './key-folder.ts';
import { vouchersOf } from './key-set.ts';
import { insertFleet, listKeys, readFleet, type SigningKeyRow } from './store.ts';

export type KeyConfig = Pick<Config, 'signingPrivateKey' | 'signingPreviousPrivateKey'>;

export type LoadOutcome =
  | { ok: true; fleetId: string; held: Map<string, SigningKey>; keyFolder: KeyFolder }
  /** One line for the log: the start is refused. */
  | { ok: false; fault: string };

/**
 * Reconciles the table with the private halves at start (docs/configuration.md; R4). Creates or imports the
 * first key, imports a further one from the environment if it can be vouched for, and refuses a revoked key,
 * halves that do not match, and an active key without its private half.
 */
export async function loadKeys(
  platform: Platform,
  config: KeyConfig,
  folder: KeyFolder,
): Promise<LoadOutcome> {
  const fleetId = await ensureFleet(platform);
  const rows = await listKeys(platform.database.read);
  const held = heldKeys(rows, config, folder);
  if (!held.ok) return held;
  if (rows.length === 0) return firstKey(platform, config, folder, fleetId);
  const unknown =
    config.signingPrivateKey === null ? null : unknownKey(rows, config.signingPrivateKey, platform);
  const current = rows.find((row) => row.in_use === 1);
  const signer = current && held.keys.get(current.key_id);
  if (!signer) return { ok: false, fault: missingHalf(current, unknown !== null) };
  if (unknown) {
    const key = { keyId: unknown.keyId, publicKeyHex: unknown.publicKeyHex, inUse: false };
    await platform.database.transact((tx) =>
      addKey(tx, platform, { key, vouchers: vouchersOf(signer, held.keys), actor: 'server' }),
    );
    held.keys.set(unknown.keyId, unknown);
    platform.log.warn('signing key from the environment added; it signs after `use`', {
      key_id: unknown.keyId,
    });
  }
  return { ok: true, fleetId, held: held.keys, keyFolder: folder };
}

async function ensureFleet(platform: Platform): Promise<string> {
  return platform.database.transact(async (tx) => {
    const fleet = await readFleet(tx);
    if (fleet) return fleet.fleet_id;
    const fleetId = platform.newId();
    await insertFleet(tx, { fleet_id: fleetId, epoch: 1, created_at: platform.now() });
    return fleetId;
  });
}

async function firstKey(
  platform: Platform,
  config: KeyConfig,
  folder: KeyFolder,
  fleetId: string,
): Promise<LoadOutcome> {
  const keyId = platform.newId();
  const privateKeyHex = config.signingPrivateKey ?? generatePrivateKeyHex(platform.random(32));
  const signer = loadSigningKey({ keyId, privateKeyHex });
  if (config.signingPrivateKey === null) {
    folder.write({ keyId, privateKeyHex });
    platform.log.warn(
      'signing key made and kept in the data folder; set SERVICE_SIGNING_PRIVATE_KEY to bring your own',
      {
        key_id: keyId,
      },
    );
  }
  const key = { keyId, publicKeyHex: signer.publicKeyHex, inUse: true };
  await platform.database.transact((tx) =>
    addKey(tx, platform, { key, vouchers: [signer], actor: 'server' }),
  );
  return { ok: true, fleetId, held: new Map([[keyId, signer]]), keyFolder: folder };
}

export type Held = { ok: true; keys: Map<string, SigningKey> } | { ok: false; fault: string };

/** The present private halves of keys that are not revoked. */
export function heldKeys(
  rows: readonly SigningKeyRow[],
  config: KeyConfig,
  folder: Pick<KeyFolder, 'readAll'>,
): Held {
  const keys = new Map<string, SigningKey>();
  try {
    for (const key of folder.readAll()) {
      const row = rows.find((r) => r.key_id === key.keyId);
      if (!row || row.status === 'revoked') continue;
      if (row.public_key_hex !== key.publicKeyHex) {
        return {
          ok: false,
          fault: `the private half of signing key version ${row.version} does not belong to it`,
        };
      }
      keys.set(key.keyId, key);
    }
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return {
      ok: false,
      fault: `a signing key of the data folder is damaged: ${error.message} (${error.code})`,
    };
  }
  for (const setting of ['signingPrivateKey', 'signingPreviousPrivateKey'] as const) {
    const given = config[setting];
    if (given === null) continue;
    const publicKeyHex = publicHalfOf(given);
    if (publicKeyHex === null) return { ok: false, fault: uselessKey(setting) };
    const row = rows.find((r) => r.public_key_hex === publicKeyHex);
    if (row?.status === 'revoked') return { ok: false, fault: revokedKey(setting, row.version) };
    if (row) keys.set(row.key_id, loadSigningKey({ keyId: row.key_id, privateKeyHex: given }));
  }
  return { ok: true, keys };
}

/** Null if the key is weak or its halves do not match. */
function publicHalfOf(privateKeyHex: string): string | null {
  try {
    return loadSigningKey({ keyId: 'environment', privateKeyHex }).publicKeyHex;
  } catch (error) {
    if (error instanceof KeyError) return null;
    throw error;
  }
}

function unknownKey(
  rows: readonly SigningKeyRow[],
  privateKeyHex: string,
  platform: Platform,
): SigningKey | null {
  const key = loadSigningKey({ keyId: platform.newId(), privateKeyHex });
  return rows.some((row) => row.public_key_hex === key.publicKeyHex) ? null : key;
}

const ENV = {
  signingPrivateKey: 'SERVICE_SIGNING_PRIVATE_KEY',
  signingPreviousPrivateKey: 'SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY',
} as const;

function uselessKey(setting: keyof typeof ENV): string {
  return `${ENV[setting]} is a hidden value; allowed: 128 hex digits, a seed and the public half that belongs to it, not weak`;
}

function revokedKey(setting: keyof typeof ENV, version: number): string {
  return `${ENV[setting]} is signing key version ${version}, which is revoked; allowed: an active or a new key`;
}

function missingHalf(current: SigningKeyRow | undefined, isNewKeyGiven: boolean): string {
  if (!current) return 'no signing key is in use; the table of signing keys has been changed by hand';
  const what = `the private half of signing key version ${current.version} (in use) is missing`;
  return isNewKeyGiven
    ? `${what}: give the old key as SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY so that it can vouch for the new one`
    : `${what}: give it as SERVICE_SIGNING_PRIVATE_KEY`;
}
