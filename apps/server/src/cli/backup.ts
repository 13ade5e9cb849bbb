import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { file, flag, many, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { readConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations.ts';
import { SQLITE_FILE } from '../platform/db/open.ts';
import { openSnapshot, type Snapshot } from '../platform/db/snapshot.ts';
import { readSecrets } from '../platform/secrets.ts';
import { recipientFault } from '../restore/backup-crypto.ts';
import { backupName, openBackupFolder, pruneBackups } from '../restore/backup-files.ts';
import { type LastBackupRow, writeLastBackup } from '../restore/last-backup-store.ts';
import { writeBackup } from '../restore/write-backup.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { withInstallation } from './open-installation.ts';

const OPTIONS = {
  to: file('where to; by default a new file in the folder "backups" of the data folder'),
  keep: text(
    'N',
    'delete all but the newest N backups that this command made in that folder; what an upgrade or --to made stays',
  ),
  'with-keys': flag(
    'include the private signing keys and the token secret of the data folder: anyone who can read such a file can impersonate the server. Keys given as settings are never in it',
  ),
  recipient: many(
    text('age1…', 'encrypt it to this age public key, in the age format; adds to SERVICE_BACKUP_RECIPIENTS'),
  ),
  'record-external': flag(
    'make no backup, but note that other means have made one now, such as pg_dump or a snapshot of the volume: run it after each of them',
  ),
  json: flag('describe the backup as JSON'),
};

export const backupCommand = declareCommand({
  name: 'backup',
  summary: 'write a backup, also while the server runs',
  calls: [
    { takes: ['to', 'with-keys', 'recipient', 'json'] },
    { needs: ['keep'], takes: ['with-keys', 'recipient', 'json'] },
    { needs: ['record-external'] },
  ],
  options: OPTIONS,
  about: `Writes the whole database, as it is now, into one compressed file, and a copy of the revocation journal beside it
(FILE.revocations.jsonl). The server may keep running. The file carries a MAC under the token secret; without it
\`tidegate restore\` restores nothing. An encrypted backup is opened by the identity: \`tidegate restore FILE --identity
KEYFILE\`, or \`age --decrypt\`. The database notes time and size of a backup that is complete: the overview, \`doctor\` and /metrics
tell when the last one is older than 7 days.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
    if (values['record-external']) {
      if (args.length > 1) throw new UsageError('--record-external goes with no other option');
      return recordExternal(world);
    }
    const { to, json = false, recipient: recipients = [], 'with-keys': withKeys = false } = values;
    const keep = values.keep === undefined ? null : keptOf(values.keep);
    if (keep !== null && to !== undefined)
      throw new UsageError('--keep is for the folder "backups": without --to');
    for (const recipient of recipients) {
      const fault = recipientFault(recipient);
      if (fault !== null) throw new UsageError(fault);
    }
    return backUp(world, { to: to ?? null, keep, withKeys, recipients, json });
  },
});

interface Wanted {
  to: string | null;
  keep: number | null;
  withKeys: boolean;
  recipients: readonly string[];
  json: boolean;
}

async function recordExternal(world: CliWorld): Promise<ExitCode> {
  return withInstallation(world, async ({ platform }) => {
    const row = { taken_at: platform.now(), bytes: null, made_by: 'other' } as const;
    await platform.database.transact((tx) => writeLastBackup(tx, row));
    world.out('Noted: a backup was made by other means just now.');
    return EXIT.ok;
  });
}

/** A backup that cannot be noted is a backup all the same. */
async function record(world: CliWorld, row: Pick<LastBackupRow, 'taken_at' | 'bytes'>): Promise<boolean> {
  try {
    const outcome = await withInstallation(world, async ({ platform }) => {
      await platform.database.transact((tx) => writeLastBackup(tx, { ...row, made_by: 'tidegate' }));
      return EXIT.ok;
    });
    if (outcome === EXIT.ok) return true;
  } catch (error) {
    world.err(error instanceof Error ? error.message : String(error));
  }
  world.err(
    'The backup is complete, but the database could not note it: the overview goes on asking for one.',
  );
  return false;
}

async function backUp(world: CliWorld, { to, keep, withKeys, json, ...wanted }: Wanted): Promise<ExitCode> {
  const fail = (fault: string): ExitCode => {
    world.err(`No backup was made: ${fault}`);
    return EXIT.failed;
  };
  const read = readConfig(world.env);
  if (!read.ok) return fail(read.fault);
  const { dataDir, databaseUrl, jwtSecret, backupRecipients } = read.config;
  const recipients = [...new Set([...backupRecipients, ...wanted.recipients])];
  if (databaseUrl === null && !existsSync(join(dataDir, SQLITE_FILE))) {
    return fail(`there is no database in ${dataDir} (SERVICE_DATA_DIR)`);
  }
  const secrets = readSecrets({ configured: jwtSecret, dataDir });
  if (!secrets) {
    return fail(
      `the token secret, which authenticates a backup, is not in ${dataDir} (SERVICE_DATA_DIR, SERVICE_JWT_SECRET)`,
    );
  }
  let snapshot: Snapshot | null = null;
  try {
    snapshot = await openSnapshot({ dataDir, databaseUrl });
    const nowMs = world.now();
    const outcome = await writeBackup(snapshot, {
      dataDir,
      to:
        to === null
          ? join(openBackupFolder(dataDir, nowMs), backupName({ nowMs, isEncrypted: recipients.length > 0 }))
          : resolve(to),
      withKeys,
      key: secrets.backups,
      recipients,
      migrations: MIGRATIONS,
      nowMs,
      onTable: (table, rows) => {
        if (world.isTerminal) world.err(`  ${table}: ${rows} rows`);
      },
    });
    if (!outcome.ok) return fail(outcome.fault);
    const { file, manifest, journal } = outcome;
    const recorded = await record(world, { taken_at: nowMs, bytes: statSync(file).size });
    const deleted = keep === null ? [] : pruneBackups(dirname(file), { made: basename(file), keep });
    if (json) {
      world.out(JSON.stringify({ file, journal, manifest, recorded, ...(keep === null ? {} : { deleted }) }));
      return EXIT.ok;
    }
    const rows = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0);
    const lines = [
      `Backup written: ${file}`,
      ...(journal === null ? [] : [`Revocation journal: ${journal}`]),
      `${rows} rows, epoch ${manifest.epoch}, SHA-256 of the content ${manifest.sha256}`,
      withKeys
        ? 'It holds the private keys and the token secret: anyone who can read it can impersonate the server.'
        : 'It holds no private keys and no token secret: back those up separately.',
      ...deleted.map((name) => `Deleted: ${name}`),
      ...(recipients.length === 0 ? [] : [`Encrypted to ${recipients.join(', ')}`]),
    ];
    world.out(lines.join('\n'));
    return EXIT.ok;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  } finally {
    await snapshot?.close();
  }
}

function keptOf(word: string): number {
  if (!/^[1-9][0-9]{0,3}$/.test(word))
    throw new UsageError(`--keep is ${JSON.stringify(word)}; allowed: 1 to 9999`);
  return Number(word);
}
