import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { secretsOf } from '../platform/secrets.ts';
import { AGE_MAGIC, type BackupEnd, decryptWith, isMacOf, UndecryptedBackup } from './backup-crypto.ts';
import {
  BACKUP_VERSIONS,
  type BackupHeader,
  type BackupLine,
  type BackupManifest,
  readBackupLine,
} from './backup-lines.ts';

/** Longest line, in bytes: an approval has at most 4 MiB, a plan 8. */
const LINE_MAX_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Keys to decrypt and authenticate a backup. */
export interface BackupKeys {
  /** For the MAC, from the local token secret; null if there is none. */
  key: Buffer | null;
  /** For the age format, if the backup is encrypted. */
  identities: readonly string[];
  /** Whether to accept a backup whose MAC is missing or of a different secret. */
  acceptUnverified: boolean;
}

/** `own`: made by an installation with the local secret; `carried`: with the secret in the backup. */
export type Authenticity = 'own' | 'carried' | 'unverified';

export type VerifyOutcome =
  | { ok: true; manifest: BackupManifest; authenticity: Authenticity }
  /** One line for the user. */
  | { ok: false; fault: string };

/** Reads a whole backup and checks it against its last line, before any of it is used. */
export async function verifyBackup(path: string, keys: BackupKeys): Promise<VerifyOutcome> {
  const bad = (why: string): VerifyOutcome => ({ ok: false, fault: `${path} cannot be restored: ${why}` });
  const check = createCheck();
  try {
    await eachLine(path, keys, async (bytes) => check.take(bytes));
  } catch (error) {
    if (error instanceof DamagedBackup) return bad(error.message);
    if (error instanceof UndecryptedBackup) return bad(NOT_DECRYPTED);
    if (error instanceof Error && 'code' in error) return bad(faultOf(String(error.code)));
    throw error;
  }
  const fault = check.fault();
  if (fault !== null) return bad(fault);
  const authenticity = judgeMac(keys.key, check.macFacts());
  if (authenticity !== null) return { ok: true, manifest: check.manifest(), authenticity };
  return keys.acceptUnverified
    ? { ok: true, manifest: check.manifest(), authenticity: 'unverified' }
    : bad(NOT_VERIFIED);
}

const NOT_DECRYPTED =
  'no identity decrypts it, or it was changed or truncated: give the file of the right identity with --identity';
const NOT_VERIFIED =
  'nothing here shows that this installation made it: provide jwt-secret (or SERVICE_JWT_SECRET) of the server that made it. --unverified restores it anyway and trusts whoever wrote the file';

interface MacFacts {
  end: BackupEnd & { mac: string | null };
  /** The token secret in the backup itself. */
  carriedKey: Buffer | null;
}

/** Null if no allowed key fits. The secret in the file counts only without a local one. */
function judgeMac(
  key: Buffer | null,
  { end, carriedKey }: MacFacts,
): Exclude<Authenticity, 'unverified'> | null {
  const { mac } = end;
  if (mac === null) return null;
  if (key !== null) return isMacOf(key, { ...end, mac }) ? 'own' : null;
  return carriedKey !== null && isMacOf(carriedKey, { ...end, mac }) ? 'carried' : null;
}

/**
 * Reads a verified backup again, and passes its lines on. Whoever can write the file may have replaced it meanwhile: throws
 * DamagedBackup, with the last line at the latest, if it is not the one with this SHA-256. What was passed on counts only
 * once this resolves.
 */
export async function eachBackupLine(
  path: string,
  { identities, sha256 }: Pick<BackupKeys, 'identities'> & Pick<BackupManifest, 'sha256'>,
  onLine: (line: BackupLine) => Promise<void>,
): Promise<void> {
  const hash = createHash('sha256');
  let isWhole = false;
  await eachLine(path, { identities }, async (bytes) => {
    const line = readBackupLine(bytes.toString('utf8'));
    if (!line || isWhole) throw new DamagedBackup(CHANGED);
    if (line.kind === 'end') {
      if (hash.digest('hex') !== sha256) throw new DamagedBackup(CHANGED);
      isWhole = true;
    } else hash.update(bytes).update('\n');
    await onLine(line);
  });
  if (!isWhole) throw new DamagedBackup(CHANGED);
}

const CHANGED = 'it has changed since it was verified';

export class DamagedBackup extends Error {
  override name = 'DamagedBackup';
}

function faultOf(code: string): string {
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'Z_BUF_ERROR') return 'it was cut short';
  if (code.startsWith('Z_')) return 'it is damaged, or no backup of Tidegate';
  return code;
}

function createCheck() {
  const hash = createHash('sha256');
  const tables: Record<string, number> = {};
  let files = 0;
  let width = 0;
  let table: string | null = null;
  let header: BackupHeader | null = null;
  let end: Extract<BackupLine, { kind: 'end' }> | null = null;
  let carriedKey: Buffer | null = null;
  let fault: string | null = null;

  function judge(bytes: Buffer): string | null {
    if (end) return 'something follows its end';
    const line = readBackupLine(bytes.toString('utf8'));
    if (!line) return 'it is damaged, or no backup of Tidegate';
    if ((header === null) !== (line.kind === 'header')) return 'it is damaged, or no backup of Tidegate';
    switch (line.kind) {
      case 'header':
        header = line.header;
        if (!BACKUP_VERSIONS.includes(line.header.v))
          return `it has form ${line.header.v}, this program reads ${BACKUP_VERSIONS.join(' and ')}`;
        break;
      case 'table':
        [table, width] = [line.table, line.columns.length];
        tables[table] = 0;
        break;
      case 'row':
        if (table === null || line.row.length !== width) return 'it is damaged: a row does not fit its table';
        tables[table] = (tables[table] ?? 0) + 1;
        break;
      case 'file':
        files++;
        if (line.file === 'jwt-secret') carriedKey = secretsOf(line.text.trim()).backups;
        break;
      case 'end': {
        end = line;
        if (line.sha256 !== hash.digest('hex')) return 'it is damaged: its SHA-256 is another one';
        const isWhole = Object.entries(line.tables).every(([name, rows]) => (tables[name] ?? 0) === rows);
        if (!isWhole || line.files !== files) return 'it is damaged: rows are missing';
        return null;
      }
    }
    hash.update(bytes).update('\n');
    return null;
  }

  return {
    take(bytes: Buffer): void {
      fault ??= judge(bytes);
      if (fault !== null) throw new DamagedBackup(fault);
    },
    fault: () => (end ? fault : 'it was cut short'),
    macFacts(): MacFacts {
      if (!end) throw new Error('a backup that was read has a last line');
      return { end, carriedKey };
    },
    manifest(): BackupManifest {
      if (!header || !end) throw new Error('a backup that was verified has a first and a last line');
      return { ...header, tables: end.tables, files: end.files, sha256: end.sha256 };
    },
  };
}

async function eachLine(
  path: string,
  { identities }: Pick<BackupKeys, 'identities'>,
  onLine: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const readLines = async (source: AsyncIterable<Buffer>) => {
    let rest: Buffer[] = [];
    let restBytes = 0;
    for await (const chunk of source) {
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(NEWLINE, from);
        const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
        rest.push(piece);
        restBytes += piece.length;
        if (restBytes > LINE_MAX_BYTES)
          throw new DamagedBackup('a line of it is longer than any of Tidegate');
        if (end === -1) break;
        await onLine(Buffer.concat(rest));
        [rest, restBytes, from] = [[], 0, end + 1];
      }
    }
    if (restBytes > 0) throw new DamagedBackup('it was cut short');
  };
  if (!(await isEncrypted(path))) return pipeline(createReadStream(path), createGunzip(), readLines);
  if (identities.length === 0) {
    throw new DamagedBackup('it is encrypted: give the file of an identity of age by --identity');
  }
  return pipeline(createReadStream(path), decryptWith(identities), createGunzip(), readLines);
}

async function isEncrypted(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(AGE_MAGIC.length), 0, AGE_MAGIC.length, 0);
    return buffer.equals(AGE_MAGIC);
  } finally {
    await file.close();
  }
}
