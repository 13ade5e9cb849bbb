import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Count, strict, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { writeSecretFile } from '../platform/secrets.ts';
import { isAbsent } from './epoch-file.ts';

export const KEY_SETS_FILE = 'key-sets.json';
/** Key sets that are kept: as many as a host follows at once. */
export const KEY_SETS_MAX = 512;

/** Root documents that are kept; each new one needs a ceremony. */
export const ROOTS_MAX = 64;

/**
 * The signed key sets, oldest first, and the root documents that they name. With them keys, their versions and their
 * revocations survive a restore of the database.
 */
const KeySetsFile = strict({
  v: Type.Literal(1),
  key_sets: Type.Array(
    strict({ version: Count, envelope: Type.String(), signed_by: Uuid, issued_at: Count, expires_at: Count }),
    { maxItems: KEY_SETS_MAX },
  ),
  roots: Type.Array(strict({ version: Count, envelope: Type.String(), installed_at: Count }), {
    maxItems: ROOTS_MAX,
  }),
});
type KeySetsFile = Static<typeof KeySetsFile>;
export type RememberedKeys = Omit<KeySetsFile, 'v'>;

export type ReadKeySetsFile =
  | { ok: true; remembered: RememberedKeys }
  /** The log line of the refused start. */
  | { ok: false; fault: string };

export function readKeySetsFile(dataDir: string): ReadKeySetsFile {
  const path = join(dataDir, KEY_SETS_FILE);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (isAbsent(error)) return { ok: true, remembered: { key_sets: [], roots: [] } };
    throw error;
  }
  const parsed = parseStrictJson(bytes);
  if (parsed.ok && Value.Check(KeySetsFile, parsed.value)) {
    return { ok: true, remembered: parsed.value };
  }
  const fault = `${path} is damaged: it keeps the key sets for the case of a restore. Remove it where the database was not restored since the last start; the server makes it anew`;
  return { ok: false, fault };
}

/** Durable when it returns. */
export function writeKeySetsFile(dataDir: string, remembered: RememberedKeys): void {
  writeSecretFile(dataDir, { name: KEY_SETS_FILE, text: `${JSON.stringify({ v: 1, ...remembered })}\n` });
}
