import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rfc3339 } from '../platform/clock.ts';
import { journalCopyOf } from './write-backup.ts';

/** What `backupName` makes; names sort by time. */
const OWN_NAME = /^tidegate-[0-9]{8}T[0-9]{9}Z\.backup(\.age)?$/;

/** The name of a backup that `tidegate backup` makes by itself. */
export function backupName({ nowMs, isEncrypted }: { nowMs: number; isEncrypted: boolean }): string {
  return `tidegate-${rfc3339(nowMs).replace(/[-:.]/g, '')}.backup${isEncrypted ? '.age' : ''}`;
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
