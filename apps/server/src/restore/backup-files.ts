import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rfc3339 } from '../platform/clock.ts';
import { journalCopyOf } from './write-backup.ts';

/** What `backupName` makes; names sort by time. */
const OWN_NAME = /^tidegate-[0-9]{8}T[0-9]{9}Z\.backup(\.age)?$/;

/** The name of a backup that is not complete. */
const PARTIAL_NAME =
  /^\.(tidegate|before-upgrade-from-[0-9]+)-[0-9]{8}T[0-9]{9}Z\.backup(\.age)?\.[0-9]+\.partial$/;
/** Nobody writes a file any more that has not changed for so long. */
const ABANDONED_MS = 3_600_000;

/** What the name of a backup begins with: it is made by `tidegate backup`, or before an upgrade. */
type Prefix = 'tidegate' | `before-upgrade-from-${number}`;

/** The name of a backup that is made without one. */
export function backupName(
  { nowMs, isEncrypted }: { nowMs: number; isEncrypted: boolean },
  prefix: Prefix = 'tidegate',
): string {
  return `${prefix}-${rfc3339(nowMs).replace(/[-:.]/g, '')}.backup${isEncrypted ? '.age' : ''}`;
}

/**
 * The folder of such backups, for its owner alone; made if it is absent. Backups that were cut short, such as by the end of the
 * process, leave it: nightly ones would fill the disk.
 */
export function openBackupFolder(dataDir: string, nowMs: number): string {
  const folder = join(resolve(dataDir), 'backups');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder).filter((one) => PARTIAL_NAME.test(one))) {
    const path = join(folder, name);
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - changedMs > ABANDONED_MS) rmSync(path, { force: true });
  }
  return folder;
}

/**
 * Deletes all but the newest `keep` backups of such a name, with their journals. Returns the names of the deleted ones.
 * Backups with a later name than the one just `made` are of another clock, right or wrong: they are counted by themselves, so
 * that they never push out the new one, nor it them.
 */
export function pruneBackups(folder: string, { made, keep }: { made: string; keep: number }): string[] {
  const own = readdirSync(folder)
    .filter((name) => OWN_NAME.test(name))
    .toSorted();
  const [upToNow, later] = [own.filter((name) => name <= made), own.filter((name) => name > made)];
  const old = [...upToNow.slice(0, -keep), ...later.slice(0, -keep)];
  for (const name of old) {
    rmSync(journalCopyOf(join(folder, name)), { force: true });
    rmSync(join(folder, name));
  }
  return old;
}
