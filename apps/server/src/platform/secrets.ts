import { hkdfSync } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RandomBytes } from './ids.ts';
import type { Log } from './log.ts';

const FILE = 'jwt-secret';

/** One key per purpose, all derived from one secret: a token of one kind is never accepted as another. */
export interface Secrets {
  accessTokens: Buffer;
  refreshTags: Buffer;
  operatorSessions: Buffer;
  operatorFactors: Buffer;
  notificationChannels: Buffer;
  knownDevices: Buffer;
  loginGuesses: Buffer;
  identityProviders: Buffer;
  rowSeals: Buffer;
  backups: Buffer;
}

/** Uses the configured secret, or the stored one, or creates one and stores it with mode 0600. */
export function loadSecrets(options: {
  configured: string | null;
  dataDir: string;
  random: RandomBytes;
  log: Log;
}): Secrets {
  return secretsOf(options.configured ?? keptSecret(options));
}

/** The same beside a running server: creates nothing. Null if there is no secret. */
export function readSecrets(options: { configured: string | null; dataDir: string }): Secrets | null {
  if (options.configured !== null) return secretsOf(options.configured);
  const path = join(options.dataDir, FILE);
  return existsSync(path) ? secretsOf(readFileSync(path, 'utf8').trim()) : null;
}

/** The keys derived from a token secret. */
export function secretsOf(secret: string): Secrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', `tidegate ${purpose}`, 32));
  return {
    accessTokens: derive('access tokens'),
    refreshTags: derive('refresh token tags'),
    operatorSessions: derive('operator sessions'),
    operatorFactors: derive('operator factors'),
    notificationChannels: derive('notification channels'),
    knownDevices: derive('known devices'),
    loginGuesses: derive('login guesses'),
    identityProviders: derive('identity providers'),
    rowSeals: derive('row seals'),
    backups: derive('backups'),
  };
}

function keptSecret({ dataDir, random, log }: { dataDir: string; random: RandomBytes; log: Log }): string {
  const path = join(dataDir, FILE);
  if (!existsSync(path)) {
    writeSecretFile(dataDir, { name: FILE, text: `${random(48).toString('base64url')}\n` });
    log.info('token secret made and kept in the data folder');
  }
  return readFileSync(path, 'utf8').trim();
}

/** Writes a file that only its owner can read: temporary file, fsync, rename, fsync of the folder. */
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
