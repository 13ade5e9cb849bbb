import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import {
  BACKUP_VERSION,
  type BackupHeader,
  type BackupLine,
  type BackupManifest,
  readBackupLine,
} from './backup-lines.ts';

/** Longest line, in bytes: an approval has at most 4 MiB, a plan 8. */
const LINE_MAX_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

export type VerifyOutcome =
  | { ok: true; manifest: BackupManifest }
  /** One line for who asked. */
  | { ok: false; fault: string };

/** Reads a whole backup and holds it against its own end: nothing of it is used before. */
export async function verifyBackup(path: string): Promise<VerifyOutcome> {
  const bad = (why: string): VerifyOutcome => ({ ok: false, fault: `${path} cannot be restored: ${why}` });
  const check = createCheck();
  try {
    await eachLine(path, async (bytes) => check.take(bytes));
  } catch (error) {
    if (error instanceof DamagedBackup) return bad(error.message);
    if (error instanceof Error && 'code' in error) return bad(faultOf(String(error.code)));
    throw error;
  }
  const fault = check.fault();
  return fault === null ? { ok: true, manifest: check.manifest() } : bad(fault);
}

/** Hands out the lines of a backup that was verified. */
export async function eachBackupLine(
  path: string,
  onLine: (line: BackupLine) => Promise<void>,
): Promise<void> {
  await eachLine(path, async (bytes) => {
    const line = readBackupLine(bytes.toString('utf8'));
    if (!line) throw new DamagedBackup('it has changed while it was read');
    await onLine(line);
  });
}

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
  let fault: string | null = null;

  function judge(bytes: Buffer): string | null {
    if (end) return 'something follows its end';
    const line = readBackupLine(bytes.toString('utf8'));
    if (!line) return 'it is damaged, or no backup of Tidegate';
    if ((header === null) !== (line.kind === 'header')) return 'it is damaged, or no backup of Tidegate';
    switch (line.kind) {
      case 'header':
        header = line.header;
        if (line.header.v !== BACKUP_VERSION)
          return `it has form ${line.header.v}, this program reads ${BACKUP_VERSION}`;
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
    manifest(): BackupManifest {
      if (!header || !end) throw new Error('a backup that was verified has a first and a last line');
      return { ...header, tables: end.tables, files: end.files, sha256: end.sha256 };
    },
  };
}

async function eachLine(path: string, onLine: (bytes: Buffer) => Promise<void>): Promise<void> {
  await pipeline(createReadStream(path), createGunzip(), async (source: AsyncIterable<Buffer>) => {
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
  });
}
