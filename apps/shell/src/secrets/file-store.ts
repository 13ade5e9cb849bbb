import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { SecretStore } from './secret-store.ts';

const Secrets = Type.Record(Type.String(), Type.String());
type Secrets = Type.Static<typeof Secrets>;

/** A file that only its owner can read (0600), replaced as a whole. */
export function openFileStore(path: string): SecretStore {
  function change(apply: (secrets: Secrets) => Secrets): void {
    const text = `${JSON.stringify(apply(readSecrets(path)), null, 2)}\n`;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(temporary, path);
  }
  return {
    place: path,
    read: async (account) => readSecrets(path)[account] ?? null,
    write: async (account, secret) => change((secrets) => ({ ...secrets, [account]: secret })),
    remove: async (account) => change(({ [account]: _removed, ...rest }) => rest),
  };
}

function readSecrets(path: string): Secrets {
  let text: string;
  try {
    // A copy may have wider permissions: they are narrowed before it is read.
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
  const parsed = parseStrictJson(text);
  if (!parsed.ok || !Check(Secrets, parsed.value))
    throw new Error(`${path} is not a file of the shell's secrets`);
  return parsed.value;
}
