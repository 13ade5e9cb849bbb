import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rfc3339 } from '../platform/clock.ts';
import { journalCopyOf } from './write-backup.ts';

/** What `backupName` makes; names sort by time. */
const OWN_NAME = /^tidegate-[0-9]{8}T[0-9]{9}Z\.backup(\.age)?$/;

/** What the name of a backup begins with: it is made by `tidegate backup`, or before an upgrade. */
type Prefix = 'tidegate' | `before-upgrade-from-${number}`;

/** The name of a backup that is made without one. */
export function backupName(
  { nowMs, isEncrypted }: { nowMs: number; isEncrypted: boolean },
  prefix: Prefix = 'tidegate',
): string {
  return `${prefix}-${rfc3339(nowMs).replace(/[-:.]/g, '')}.backup${isEncrypted ? '.age' : ''}`;
}

/** The folder of such backups, for its owner alone; made if it is absent. */
export function openBackupFolder(dataDir: string): string {
  const folder = join(resolve(dataDir), 'backups');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Deletes all but the newest `keep` backups of such a name, with their journals. Returns the names of the deleted ones. */
export function pruneBackups(folder: string, keep: number): string[] {
  const own = readdirSync(folder).filter((name) => OWN_NAME.test(name));
  const old = own.toSorted().slice(0, -keep);
  for (const name of old) {
    rmSync(journalCopyOf(join(folder, name)), { force: true });
    rmSync(join(folder, name));
  }
  return old;
}
