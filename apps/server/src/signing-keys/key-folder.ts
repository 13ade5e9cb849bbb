import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSigningKey, type SigningKey } from '@tidegate/signing/sign';
import { KeyError } from '@tidegate/signing/verify';
import { writeSecretFile } from '../platform/secrets.ts';

const FILE = /^([0-9a-f-]{36})\.key$/;

/** The private halves that the server created: one file per key, 0600, in a separate folder. */
export interface KeyFolder {
  /** Throws KeyError if a file is damaged; never reveals its contents. */
  readAll(): SigningKey[];
  /** The same while the server runs: skips damaged or incomplete files. */
  readSound(): SigningKey[];
  /** Resolves once the key is on disk. */
  write(key: { keyId: string; privateKeyHex: string }): void;
}

export function openKeyFolder(dataDir: string): KeyFolder {
  const folder = join(dataDir, 'keys');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  function read(name: string, keyId: string): SigningKey {
    return loadSigningKey({ keyId, privateKeyHex: readFileSync(join(folder, name), 'utf8').trim() });
  }
  function readSound(name: string, keyId: string): SigningKey[] {
    try {
      return [read(name, keyId)];
    } catch (error) {
      if (error instanceof KeyError) return [];
      throw error;
    }
  }
  const files = () =>
    readdirSync(folder).flatMap((name) => {
      const keyId = FILE.exec(name)?.[1];
      return keyId === undefined ? [] : [{ name, keyId }];
    });
  return {
    readAll: () => files().map(({ name, keyId }) => read(name, keyId)),
    readSound: () => files().flatMap(({ name, keyId }) => readSound(name, keyId)),
    write({ keyId, privateKeyHex }) {
      writeSecretFile(folder, { name: `${keyId}.key`, text: `${privateKeyHex}\n` });
    },
  };
}
