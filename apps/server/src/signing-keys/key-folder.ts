import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSigningKey, type SigningKey } from '@tidegate/signing/sign';
import { writeSecretFile } from '../platform/secrets.ts';

const FILE = /^([0-9a-f-]{36})\.key$/;

/** The private halves that the server made itself: one file for each key, 0600, in a folder of its own. */
export interface KeyFolder {
  /** Throws KeyError where a file is damaged; never says what is in it. */
  readAll(): SigningKey[];
  /** On disk when it returns. */
  write(key: { keyId: string; privateKeyHex: string }): void;
}

export function openKeyFolder(dataDir: string): KeyFolder {
  const folder = join(dataDir, 'keys');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    readAll() {
      const keys: SigningKey[] = [];
      for (const name of readdirSync(folder)) {
        const keyId = FILE.exec(name)?.[1];
        if (keyId === undefined) continue;
        keys.push(loadSigningKey({ keyId, privateKeyHex: readFileSync(join(folder, name), 'utf8').trim() }));
      }
      return keys;
    },
    write({ keyId, privateKeyHex }) {
      writeSecretFile(folder, { name: `${keyId}.key`, text: `${privateKeyHex}\n` });
    },
  };
}
