import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEYSET_TYPE, KeySetPayload } from '@tidegate/protocol/documents';
import { PublicKeyHex } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { signEnvelope } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey, type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { checkpointKeys } from '../events/checkpoint-keys.ts';
import type { CheckpointSigner } from '../events/make-checkpoint.ts';
import type { CheckpointKeys } from '../events/open-checkpoint.ts';
import { openKeyFolder } from '../signing-keys/key-folder.ts';
import { heldKeys } from '../signing-keys/load-keys.ts';
import { listKeys, newestKeySet, readFleet } from '../signing-keys/store.ts';
import { standingSet } from '../signing-keys/vouched-keys.ts';
import { CommandFault, type Installation } from './open-installation.ts';

export interface InstallationKeys {
  /** Empty when no private half is here. */
  trusted: CheckpointKeys;
  /** Null when the private half of the key in use is missing. */
  signer: CheckpointSigner | null;
}

/**
 * The keys trusted for this installation's checkpoints: those whose private halves are here, and those of the newest key
 * set that one of them signed. The table of keys is not trusted: the database is what is being verified.
 */
export async function keysOfInstallation({ config, platform }: Installation): Promise<InstallationKeys> {
  const db = platform.database.read;
  if (!existsSync(join(config.dataDir, 'keys')) && config.signingPrivateKey === null) {
    return { trusted: { keys: [], revokedAtMs: new Map() }, signer: null };
  }
  const rows = await listKeys(db);
  const held = heldKeys(rows, config, openKeyFolder(config.dataDir));
  if (!held.ok) throw new CommandFault(held.fault);
  const own = [...held.keys.values()];
  const { entries } = standingSet(await newestKeySet(db), own);
  const trusted = keysOf(
    [...entries.values()],
    own.map(({ keyId, publicKeyHex }) => ({ keyId, publicKeyHex })),
  );
  const fleet = await readFleet(db);
  const current = held.keys.get(rows.find((row) => row.in_use === 1)?.key_id ?? '');
  if (!fleet || !current) return { trusted, signer: null };
  const { fleet_id: fleetId, epoch } = fleet;
  return {
    trusted,
    signer: {
      fleetId,
      epoch: () => epoch,
      signer: () => ({ sign: (type, bytes) => signEnvelope(current, type, bytes) }),
    },
  };
}

const KeysFile = Type.Object({
  keys: Type.Array(Type.Object({ key_id: Type.String({ minLength: 1 }), public_key_hex: PublicKeyHex }), {
    minItems: 1,
    maxItems: 256,
  }),
  key_set: Type.Optional(Type.Unknown()),
});
const KEYS_FILE_MAX_BYTES = 8 * 1024 * 1024;

/** Public keys as the server's endpoint returns them (E8), including those of its key set that were revoked since. */
export function keysOfFile(path: string): CheckpointKeys {
  const bytes = readFileSync(path);
  const parsed = bytes.length > KEYS_FILE_MAX_BYTES ? null : parseStrictJson(bytes);
  if (!parsed?.ok || !Value.Check(KeysFile, parsed.value)) {
    throw new CommandFault(
      `${path} does not hold public keys; allowed: the response of GET /api/v1/public-keys`,
    );
  }
  const given = parsed.value.keys.map((key) => ({ keyId: key.key_id, publicKeyHex: key.public_key_hex }));
  const verified = verifyEnvelope(parsed.value.key_set, given.map(load), KEYSET_TYPE);
  const set = verified.ok ? parseStrictJson(verified.payload) : null;
  return keysOf(set?.ok && Value.Check(KeySetPayload, set.value) ? set.value.keys : [], given);
}

function keysOf(...given: Parameters<typeof checkpointKeys>): CheckpointKeys {
  try {
    return checkpointKeys(...given);
  } catch (error) {
    if (error instanceof KeyError) throw new CommandFault(error.message);
    throw error;
  }
}

function load(key: { keyId: string; publicKeyHex: string }): TrustedKey {
  try {
    return loadTrustedKey(key);
  } catch (error) {
    if (error instanceof KeyError) throw new CommandFault(error.message);
    throw error;
  }
}
