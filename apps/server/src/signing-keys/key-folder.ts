import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadSigningKey, type SigningKey } from '@tidegate/signing/sign';

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

/** Writes a file that only its owner reads: temporary file, fsync, rename, fsync of the folder. */
export function writeSecretFile(folder: string, { name, text }: { name: string; text: string }): void {
  const temporary = join(folder, `.${name}.${process.pid}`);
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, join(folder, name));
  const directory = openSync(folder, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
