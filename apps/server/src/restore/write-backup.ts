import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { rfc3339 } from '../platform/clock.ts';
import type { SqlValue } from '../platform/db/engine.ts';
import type { Migration } from '../platform/db/migrate.ts';
import type { Snapshot } from '../platform/db/snapshot.ts';
import { writeSecretFile } from '../platform/secrets.ts';
import { syncPath } from '../platform/sync-path.ts';
import { encryptTo, macOfBackup } from './backup-crypto.ts';
import { BACKUP_VERSION, type BackupHeader, type BackupManifest } from './backup-lines.ts';
import { JOURNAL_FILE } from './revocation-journal.ts';
import { tablesOf } from './table-store.ts';

/** Name of the copy of the revocation journal beside a backup. */
export function journalCopyOf(backup: string): string {
  return `${backup}.${JOURNAL_FILE}`;
}

export interface BackupJob {
  dataDir: string;
  to: string;
  withKeys: boolean;
  /** For the MAC, from the token secret. */
  key: Buffer;
  /** Recipients in the age format; without any the backup is not encrypted. */
  recipients: readonly string[];
  migrations: readonly Migration[];
  nowMs: number;
  /** Called after each table. */
  onTable: (table: string, rows: number) => void;
}

export type BackupOutcome =
  | { ok: true; file: string; manifest: BackupManifest; journal: string | null }
  /** One line for the user. */
  | { ok: false; fault: string };

/**
 * Writes the snapshot into one compressed file, the same for both engines, and a copy of the journal beside
 * it. Under its final name the file is complete and durable, or absent.
 */
export async function writeBackup(snapshot: Snapshot, job: BackupJob): Promise<BackupOutcome> {
  const { to } = job;
  if (existsSync(to))
    return { ok: false, fault: `${to} is there already; allowed: a name that is not taken` };
  const read = await readHeader(snapshot, job);
  if (!read.ok) return read;
  const temporary = join(dirname(to), `.${basename(to)}.${process.pid}.partial`);
  try {
    const end: { manifest: BackupManifest | null } = { manifest: null };
    const lines = backupLines(snapshot, { ...job, header: read.header, onEnd: (m) => (end.manifest = m) });
    const file = createWriteStream(temporary, { mode: 0o600, flags: 'wx' });
    if (job.recipients.length === 0) await pipeline(lines, createGzip(), file);
    else await pipeline(lines, createGzip(), encryptTo(job.recipients), file);
    syncPath(temporary);
    if (!end.manifest) throw new Error('a backup that was written has an end');
    renameSync(temporary, to);
    syncPath(dirname(to));
    return { ok: true, file: to, manifest: end.manifest, journal: copyJournal(job) };
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

type ReadHeader = { ok: true; header: BackupHeader } | { ok: false; fault: string };

async function readHeader(
  snapshot: Snapshot,
  { withKeys, migrations, nowMs }: BackupJob,
): Promise<ReadHeader> {
  const tables = await snapshot.tables();
  if (!tables.has('fleet'))
    return { ok: false, fault: 'the database is empty: no server has started on it yet' };
  const [fleet, head] = [await firstRow(snapshot, 'fleet'), await firstRow(snapshot, 'events_head')];
  if (!fleet) return { ok: false, fault: 'the database is empty: no server has started on it yet' };
  let schemaVersion = 0;
  for await (const { columns, rows } of snapshot.read('schema_migrations')) {
    const at = columns.indexOf('version');
    schemaVersion = Math.max(schemaVersion, ...rows.map((row) => Number(row[at])));
  }
  const known = migrations.at(-1)?.version ?? 0;
  if (schemaVersion > known) {
    const fault = `the database is at version ${schemaVersion}, this program knows ${known}: use the program that the server runs`;
    return { ok: false, fault };
  }
  const hash = head?.hash;
  const header: BackupHeader = {
    format: 'tidegate-backup',
    v: BACKUP_VERSION,
    schema_version: schemaVersion,
    created_at: rfc3339(nowMs),
    engine: snapshot.engine,
    fleet_id: String(fleet.fleet_id),
    epoch: Number(fleet.epoch),
    events: { position: Number(head?.position ?? 0), hash: typeof hash === 'string' ? hash : null },
    with_keys: withKeys,
  };
  return { ok: true, header };
}

async function firstRow(snapshot: Snapshot, table: string): Promise<Record<string, SqlValue> | null> {
  for await (const { columns, rows } of snapshot.read(table)) {
    return Object.fromEntries(columns.map((column, i) => [column, rows[0]?.[i] ?? null]));
  }
  return null;
}

async function* backupLines(
  snapshot: Snapshot,
  job: BackupJob & { header: BackupHeader; onEnd: (manifest: BackupManifest) => void },
): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const line = (value: unknown) => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  yield line(job.header);
  const present = await snapshot.tables();
  const counts: Record<string, number> = {};
  for (const table of tablesOf(job.migrations).filter((name) => present.has(name))) {
    let count = 0;
    for await (const { columns, rows } of snapshot.read(table)) {
      if (count === 0) yield line({ table, columns });
      count += rows.length;
      yield rows.map(line).join('');
    }
    counts[table] = count;
    job.onTable(table, count);
  }
  const files = job.withKeys ? secretFiles(job.dataDir) : [];
  for (const file of files) yield line({ file, text: readFileSync(join(job.dataDir, file), 'utf8') });
  const end = { tables: counts, files: files.length, sha256: hash.digest('hex') };
  job.onEnd({ ...job.header, ...end });
  yield `${JSON.stringify({ end: true, ...end, mac: macOfBackup(job.key, end) })}\n`;
}

/** The secrets that a server created itself, without those of the environment. */
function secretFiles(dataDir: string): string[] {
  const keys = join(dataDir, 'keys');
  const names = existsSync(keys) ? readdirSync(keys).filter((name) => /^[0-9a-f-]{36}\.key$/.test(name)) : [];
  const secret = existsSync(join(dataDir, 'jwt-secret')) ? ['jwt-secret'] : [];
  return [...secret, ...names.map((name) => `keys/${name}`)];
}

/** Copied after the snapshot, so that it has at least everything in the snapshot. */
function copyJournal({ dataDir, to }: BackupJob): string | null {
  const journal = join(dataDir, JOURNAL_FILE);
  if (!existsSync(journal)) return null;
  const copy = journalCopyOf(to);
  writeSecretFile(dirname(copy), { name: basename(copy), text: readFileSync(journal, 'utf8') });
  return copy;
}
