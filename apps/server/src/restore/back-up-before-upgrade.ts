import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Database } from '../platform/db/engine.ts';
import { isBeforeFirstRelease, type Migration } from '../platform/db/migrate.ts';
import { schemaVersion } from '../platform/db/schema-version.ts';
import { openSnapshot, type Snapshot } from '../platform/db/snapshot.ts';
import type { Log } from '../platform/log.ts';
import { backupName, openBackupFolder } from './backup-files.ts';
import { writeBackup } from './write-backup.ts';

export interface UpgradeBackup {
  config: Pick<Config, 'dataDir' | 'databaseUrl' | 'backupRecipients' | 'backupBeforeUpgrade'>;
  database: Database;
  migrations: readonly Migration[];
  /** For the MAC, from the token secret. */
  key: Buffer;
  nowMs: number;
  log: Pick<Log, 'info' | 'warn'>;
}

export type UpgradeBackupOutcome =
  /** `file` is null if the database needs no migration, or the setting says that you make backups yourself. */
  | { ok: true; file: string | null }
  /** One line for the user; the database is unchanged. */
  | { ok: false; fault: string };

/** Backs up a database that an older release has left, before its migrations: the way back to that release. */
export async function backUpBeforeUpgrade(job: UpgradeBackup): Promise<UpgradeBackupOutcome> {
  const { config, database, migrations, log } = job;
  const version = (await schemaVersion(database.read)) ?? 0;
  const wanted = migrations.at(-1)?.version ?? 0;
  // The migration itself refuses what it cannot upgrade.
  if (version === 0 || version >= wanted || isBeforeFirstRelease(version, migrations))
    return { ok: true, file: null };
  if (!config.backupBeforeUpgrade) {
    log.warn('no backup before the upgrade (SERVICE_BACKUP_BEFORE_UPGRADE)', { from: version, to: wanted });
    return { ok: true, file: null };
  }
  try {
    const made = await write(job, version);
    if (!made.ok) return refuse(made.fault);
    log.info('backed up before the upgrade', { file: made.file, from: version, to: wanted });
    return made;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

async function write(
  { config, migrations, key, nowMs }: UpgradeBackup,
  version: number,
): Promise<UpgradeBackupOutcome> {
  const { dataDir, databaseUrl, backupRecipients: recipients } = config;
  const isEncrypted = recipients.length > 0;
  const name = backupName({ nowMs, isEncrypted }, `before-upgrade-from-${version}`);
  const to = join(openBackupFolder(dataDir, nowMs), name);
  let snapshot: Snapshot | null = null;
  try {
    snapshot = await openSnapshot({ dataDir, databaseUrl });
    const job = { dataDir, to, withKeys: false, key, recipients, migrations, nowMs };
    return await writeBackup(snapshot, { ...job, onTable: () => {} });
  } finally {
    await snapshot?.close();
  }
}

function refuse(fault: string): { ok: false; fault: string } {
  const ways =
    'make room in the data folder, or make a backup yourself and set SERVICE_BACKUP_BEFORE_UPGRADE=false';
  return {
    ok: false,
    fault: `the database was not upgraded, as it could not be backed up (${fault}): ${ways}`,
  };
}
