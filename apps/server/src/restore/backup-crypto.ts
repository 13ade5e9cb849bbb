import { createHmac, timingSafeEqual } from 'node:crypto';
import { Decrypter, Encrypter } from 'age-encryption';

/** The first bytes of an age file (age-encryption.org/v1). */
export const AGE_MAGIC = Buffer.from('age-encryption.org/v1\n');

/** The last line's facts about everything before it. */
export interface BackupEnd {
  tables: Record<string, number>;
  files: number;
  sha256: string;
}

/** The MAC of a backup: over the SHA-256 of every byte before its last line, and over that line's counts. */
export function macOfBackup(key: Buffer, { tables, files, sha256 }: BackupEnd): string {
  const content = JSON.stringify(['tidegate backup 1', sha256, files, Object.entries(tables)]);
  return createHmac('sha256', key).update(content).digest('hex');
}

export function isMacOf(key: Buffer, end: BackupEnd & { mac: string }): boolean {
  const [given, due] = [Buffer.from(end.mac), Buffer.from(macOfBackup(key, end))];
  return given.length === due.length && timingSafeEqual(given, due);
}

/** Null for a recipient of the age format (`age1…`); else the fault, without the possibly secret text. */
export function recipientFault(text: string): string | null {
  try {
    new Encrypter().addRecipient(text);
    return null;
  } catch {
    return 'a recipient is no public key of age; allowed: age1…, as age-keygen prints it';
  }
}

/** Encrypts a stream to recipients, in the age format, 64 KiB at a time. */
export function encryptTo(recipients: readonly string[]) {
  return async function* encrypt(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const encrypter = new Encrypter();
    for (const recipient of recipients) encrypter.addRecipient(recipient);
    yield* await encrypter.encrypt(ReadableStream.from(source));
  };
}

/** The identities of a file as age-keygen writes it: one per line, `#` starts a comment. Null without any. */
export function readIdentities(text: string): string[] | null {
  const lines = text.split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  try {
    for (const identity of identities) new Decrypter().addIdentity(identity);
  } catch {
    return null;
  }
  return identities.length === 0 ? null : identities;
}

/** A backup that cannot be decrypted: a wrong identity, a changed byte, or a truncated file. */
export class UndecryptedBackup extends Error {
  override name = 'UndecryptedBackup';
}

/** Decrypts a stream; each piece is authenticated before it is passed on. Throws UndecryptedBackup. */
export function decryptWith(identities: readonly string[]) {
  return async function* decrypt(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const decrypter = new Decrypter();
    for (const identity of identities) decrypter.addIdentity(identity);
    try {
      yield* await decrypter.decrypt(ReadableStream.from(source));
    } catch (cause) {
      throw new UndecryptedBackup('it cannot be decrypted', { cause });
    }
  };
}
