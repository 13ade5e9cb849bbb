import { join } from 'node:path';
import { MIGRATIONS } from '../migrations.ts';
import { openSnapshot } from '../platform/db/snapshot.ts';
import { createIdMaker, systemRandom } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { readSecrets } from '../platform/secrets.ts';
import { type RestoreOutcome, restoreBackup } from '../restore/restore-backup.ts';
import { sealsOfFolder } from '../restore/seals-of-folder.ts';
import { writeBackup } from '../restore/write-backup.ts';
import type { Household } from './restored-server.ts';

/** `tidegate backup` without the command around it. */
export async function backUp(
  home: Household,
  {
    withKeys = false,
    name = 'one.backup',
    recipients = [],
  }: { withKeys?: boolean; name?: string; recipients?: string[] } = {},
) {
  const { dataDir } = home.config;
  const snapshot = await openSnapshot(home.config);
  try {
    const to = join(dataDir, name);
    const key = keyOf(home);
    if (!key) throw new Error('no server has started on this folder');
    const job = {
      dataDir,
      to,
      withKeys,
      key,
      recipients,
      migrations: MIGRATIONS,
      nowMs: home.clock.now(),
      onTable: () => {},
    };
    const outcome = await writeBackup(snapshot, job);
    if (!outcome.ok) throw new Error(outcome.fault);
    return { ...outcome, to };
  } finally {
    await snapshot.close();
  }
}

/** `tidegate restore` without the command around it. */
export async function restore(
  home: Household,
  file: string,
  {
    migrations = MIGRATIONS,
    resyncHours = null,
    identities = [],
    acceptUnverified = false,
    afterVerifying = () => {},
  }: {
    migrations?: typeof MIGRATIONS;
    resyncHours?: number | null;
    identities?: readonly string[];
    acceptUnverified?: boolean;
    /** Called before the backup is read for the second time. */
    afterVerifying?: () => void;
  } = {},
): Promise<RestoreOutcome> {
  const { dataDir, databaseUrl } = home.config;
  // The first to ask for the time is the migration of the new database.
  const now = () => {
    afterVerifying();
    return home.clock.now();
  };
  const world = { now, newId: createIdMaker(home.clock.now, systemRandom) };
  const log = createLog({ level: 'error', format: 'text', now: home.clock.now, write: () => {} });
  const seals = sealsOfFolder({ config: home.config, random: systemRandom, log });
  const keys = { key: keyOf(home), identities, acceptUnverified };
  const job = { file, dataDir, databaseUrl, resyncHours, migrations, world, seals, keys };
  return restoreBackup({ ...job, onTable: () => {} });
}

export function keyOf({ config }: Household): Buffer | null {
  const { jwtSecret: configured, dataDir } = config;
  return readSecrets({ configured, dataDir })?.backups ?? null;
}
