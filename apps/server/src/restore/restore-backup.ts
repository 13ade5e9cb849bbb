import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CHAINING, chainEvents } from '../events/chain-events.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { RowSeals } from '../platform/db/create-row-seals.ts';
import type { Database } from '../platform/db/engine.ts';
import { isBeforeFirstRelease, type Migration, migrate } from '../platform/db/migrate.ts';
import { openDatabase, SQLITE_FILE } from '../platform/db/open.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { holdInstanceLock } from '../platform/instance-lock.ts';
import type { Platform } from '../platform/platform.ts';
import { writeSecretFile } from '../platform/secrets.ts';
import { syncPath } from '../platform/sync-path.ts';
import type { BackupManifest } from './backup-lines.ts';
import { importBackup } from './import-backup.ts';
import { readLines } from './journal-lines.ts';
import { type Authenticity, type BackupKeys, DamagedBackup, verifyBackup } from './read-backup.ts';
import { openNewResync } from './resync.ts';
import { openJournal, type RevocationJournal } from './revocation-journal.ts';
import { markRestored } from './store.ts';
import { contentOf, faultOfSqlite, forgetTheLiving } from './table-store.ts';
import { journalCopyOf } from './write-backup.ts';

export interface RestoreJob {
  file: string;
  dataDir: string;
  databaseUrl: string | null;
  /** Opens the bounded resync for so many hours; null leaves it closed. */
  resyncHours: number | null;
  migrations: readonly Migration[];
  world: Pick<Platform, 'now' | 'newId'>;
  /** Keys to decrypt and authenticate the backup. */
  keys: BackupKeys;
  /** Of the data folder after the restore: its key is read when a row is written. */
  seals: RowSeals;
  onTable: (table: string, rows: number) => void;
}

export type RestoreOutcome =
  | {
      ok: true;
      manifest: BackupManifest;
      authenticity: Authenticity;
      /** Path of the previous database; null if there was none. */
      aside: string | null;
      /** Secrets restored from the backup, and local ones that stay. */
      secrets: { taken: string[]; kept: string[] };
      journalEntries: number;
    }
  | { ok: false; fault: string };

/**
 * Replaces the database with a backup. Everything is checked before anything changes, and the previous
 * database is kept. Epoch file, key sets and journal of this machine stay, so that the next start begins a
 * new epoch and repeats the revocations made since the backup.
 */
export async function restoreBackup(job: RestoreJob): Promise<RestoreOutcome> {
  mkdirSync(job.dataDir, { recursive: true, mode: 0o700 });
  const lock = holdInstanceLock(job.dataDir);
  if (!lock) return { ok: false, fault: `a server is running on ${job.dataDir}: stop it first` };
  try {
    const verified = await verifyBackup(job.file, job.keys);
    if (!verified.ok) return verified;
    const { manifest } = verified;
    const known = job.migrations.at(-1)?.version ?? 0;
    if (manifest.schema_version > known) {
      const versions = `the backup has database version ${manifest.schema_version}, this program supports ${known}`;
      return { ok: false, fault: `${versions}: use the program that made it, or a newer one` };
    }
    if (isBeforeFirstRelease(manifest.schema_version, job.migrations)) {
      const fault = `the backup has database version ${manifest.schema_version}, from before the first release: no program restores it`;
      return { ok: false, fault };
    }
    const restored = await putInPlace(job, manifest);
    if (!restored.ok) return restored;
    return { ...restored, authenticity: verified.authenticity };
  } catch (error) {
    if (error instanceof DamagedBackup)
      return { ok: false, fault: `${job.file} cannot be restored: ${error.message}` };
    throw error;
  } finally {
    lock.release();
  }
}

type Placed =
  | Omit<Extract<RestoreOutcome, { ok: true }>, 'authenticity'>
  | Extract<RestoreOutcome, { ok: false }>;

async function putInPlace(job: RestoreJob, manifest: BackupManifest): Promise<Placed> {
  const copied = readJournalCopy(job.file);
  if (!copied.ok) return copied;
  const opened = openJournal(job.dataDir);
  if (!opened.ok) return opened;
  const { journal } = opened;
  try {
    for (const entry of copied.entries) journal.append([entry]);
    const secrets = { taken: [], kept: [] };
    const filled =
      job.databaseUrl === null
        ? await fillSqlite(job, { manifest, secrets })
        : await fillPostgres(job, { manifest, secrets });
    if (!filled.ok) return filled;
    return { ...filled, manifest, secrets, journalEntries: journal.entries().length };
  } finally {
    journal.close();
  }
}

interface Filling {
  manifest: BackupManifest;
  secrets: { taken: string[]; kept: string[] };
}
type Filled = { ok: true; aside: string | null } | { ok: false; fault: string };

async function fillSqlite(job: RestoreJob, filling: Filling): Promise<Filled> {
  const final = join(job.dataDir, SQLITE_FILE);
  const fresh = join(job.dataDir, `.${SQLITE_FILE}.restoring`);
  for (const part of PARTS) rmSync(fresh + part, { force: true });
  const database = openSqlite(fresh, { seals: job.seals, beforeCommit: chainEvents });
  try {
    await fill(database, job, filling);
    const fault = await faultOfSqlite(database.read);
    if (fault !== null) throw new Error(`the restored database is not sound: ${fault}`);
    await database.close();
  } catch (error) {
    await database.close();
    for (const part of PARTS) rmSync(fresh + part, { force: true });
    throw error;
  }
  // A remaining log would hold rows that the file lacks.
  if (existsSync(`${fresh}-wal`)) throw new Error('the restored database could not be closed');
  const aside = existsSync(final) ? setAside(final, job.world.now()) : null;
  renameSync(fresh, final);
  syncPath(job.dataDir);
  return { ok: true, aside };
}

/** The database, its write-ahead log and the log's index. */
const PARTS = ['', '-wal', '-shm'];

/** Links the previous database under a second name first, so that a database always exists. */
function setAside(file: string, nowMs: number): string {
  const stamp = rfc3339(nowMs).replace(/[-:]|\.\d+/g, '');
  const first = `${file}.before-restore-${stamp}`;
  let aside = first;
  for (let n = 2; existsSync(aside); n++) aside = `${first}-${n}`;
  // Remnants of a database after a crash belong only to it.
  for (const part of PARTS.slice(1)) {
    if (existsSync(file + part)) renameSync(file + part, aside + part);
  }
  linkSync(file, aside);
  return aside;
}

async function fillPostgres(job: RestoreJob, filling: Filling): Promise<Filled> {
  const database = openDatabase(job, { seals: job.seals, chaining: CHAINING });
  try {
    if ((await contentOf(database)) === 'foreign') {
      const fault =
        'the database of SERVICE_DATABASE_URL is not empty: create a new database, name it there, and leave the old one unchanged';
      return { ok: false, fault };
    }
    await fill(database, job, filling);
    return { ok: true, aside: null };
  } finally {
    await database.close();
  }
}

async function fill(database: Database, job: RestoreJob, { manifest, secrets }: Filling): Promise<void> {
  const { world, resyncHours } = job;
  const migrations = job.migrations.filter(({ version }) => version <= manifest.schema_version);
  const migrated = await migrate(database, { migrations, now: world.now });
  if (!migrated.ok) throw new Error('an empty database has no version');
  await database.transact(async (tx) => {
    await importBackup(tx, {
      file: job.file,
      ...{ identities: job.keys.identities, sha256: manifest.sha256 },
      engine: database.engine,
      migrations,
      onTable: job.onTable,
      onFile: (name, text) => takeSecret(job.dataDir, { name, text, secrets }),
    });
    await forgetTheLiving(tx);
    const backupCreatedAtMs = Date.parse(manifest.created_at);
    await markRestored(tx, { atMs: world.now(), backupCreatedAtMs });
  });
  if (resyncHours === null) return;
  // The row is written in the newest schema, and the backup may have an older one.
  await migrate(database, { migrations: job.migrations, now: world.now });
  const opening = { hours: resyncHours, reason: 'tidegate restore --resync-hours', actor: 'server' };
  await database.transact((tx) => openNewResync(tx, world, opening));
}

/** Local secrets stay: a secret in use is never replaced silently. */
function takeSecret(
  dataDir: string,
  { name, text, secrets }: { name: string; text: string; secrets: Filling['secrets'] },
): void {
  const path = join(dataDir, name);
  if (existsSync(path)) {
    if (readFileSync(path, 'utf8') !== text) secrets.kept.push(name);
    return;
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeSecretFile(dirname(path), { name: name.split('/').at(-1) ?? name, text });
  secrets.taken.push(name);
}

type ReadCopy =
  | { ok: true; entries: ReturnType<RevocationJournal['entries']> }
  | { ok: false; fault: string };

/** Merges the copy beside the backup into the local journal. */
function readJournalCopy(backup: string): ReadCopy {
  const path = journalCopyOf(backup);
  if (!existsSync(path)) return { ok: true, entries: [] };
  const read = readLines(readFileSync(path));
  if (!read.ok)
    return {
      ok: false,
      fault: `${path} is damaged at line ${read.line}: remove it, or replace it with an undamaged copy`,
    };
  const withdrawn = new Set(
    read.acts.filter(({ act }) => act === 'withdrawn').map(({ revocation }) => JSON.stringify(revocation)),
  );
  const revoked = read.acts.filter(({ act }) => act === 'revoked').map(({ revocation }) => revocation);
  return { ok: true, entries: revoked.filter((revocation) => !withdrawn.has(JSON.stringify(revocation))) };
}
