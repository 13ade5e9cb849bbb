import { randomBytes } from 'node:crypto';
import {
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { Uuid } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { READY_MARK } from '../jobs/job-folder.ts';
import { errorCode } from '../platform/file-layer.ts';
import { type HeldFolder, holdFolder } from '../platform/held-folder.ts';

/** Maximum entries read from a spool; an agent leaves one job at a time. */
const ENTRIES_MAX = 10_000;
/** Maximum jobs per scan, oldest first by id (UUIDv7). */
const JOBS_MAX = 16;

/** The result of one scan of a spool. */
export interface SpoolLook {
  /** Names of the folders with a complete job. */
  jobs: string[];
  /** Entries hidden from the path unit because they were not jobs, or too many. */
  setAside: number;
  /** There are more entries than the limit, or an undecodable name: the whole spool must be replaced. */
  isFlooded: boolean;
}

/**
 * Finds the complete jobs and hides everything else that the path unit's pattern (any folder or linked folder
 * with any `ready`) would match. The spool's content is untrusted: nothing is followed, opened for reading or
 * waited for.
 */
export function lookThrough(spool: HeldFolder): SpoolLook {
  const whole: string[] = [];
  let [entries, setAside, isFlooded] = [0, 0, false];
  const folder = opendirSync(spool.here);
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (entry.name.startsWith('.')) continue; // the pattern does not match them
      entries += 1;
      // A name that is not UTF-8 cannot be decoded, and so not be used.
      isFlooded = entries > ENTRIES_MAX || entry.name.includes('\uFFFD');
      if (isFlooded) break;
      const kind = judgeEntry(spool, entry.name);
      if (kind === 'job') whole.push(entry.name);
      if (kind === 'foreign') setAside += hide(spool, entry.name) ? 1 : 0;
    }
  } finally {
    folder.closeSync();
  }
  whole.sort();
  for (const name of whole.splice(JOBS_MAX)) setAside += hide(spool, name) ? 1 : 0;
  return { jobs: whole, setAside, isFlooded };
}

/** Whether another complete job waits in this spool. Its content is untrusted; at the limit it is taken as one that has. */
export function hasOtherJob(spool: string, commandId: string): boolean {
  const folder = opendirSync(spool);
  try {
    let entries = 0;
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      entries += 1;
      if (entries > ENTRIES_MAX) return true;
      const isOther = entry.name !== commandId && Check(Uuid, entry.name);
      if (isOther && lookAt(join(spool, entry.name, READY_MARK)) === 'file') return true;
    }
    return false;
  } finally {
    folder.closeSync();
  }
}

/** A folder without a mark may be an unfinished job. */
function judgeEntry(spool: HeldFolder, name: string): 'job' | 'foreign' | 'unmarked' {
  const stat = lstatSync(spool.at(name), { throwIfNoEntry: false });
  if (stat === undefined) return 'unmarked';
  if (!stat.isDirectory()) return 'foreign';
  const mark = lookAt(spool.at(`${name}/${READY_MARK}`));
  if (mark === 'absent') return 'unmarked';
  return mark === 'file' && Check(Uuid, name) ? 'job' : 'foreign';
}

function lookAt(path: string): 'absent' | 'file' | 'other' {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return 'absent';
    return stat.isFile() ? 'file' : 'other';
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') return 'absent'; // not a folder any more
    throw error;
  }
}

/** Hides a mark from the pattern: removes it, or renames it or its folder. Returns whether one of them worked. */
export function hide(spool: HeldFolder, name: string): boolean {
  const hidden = `.refused-${randomBytes(6).toString('hex')}`;
  const moveAll = () => attempt(() => renameSync(spool.at(name), spool.at(hidden)));
  const job = holdFolder(spool.at(name));
  if (!job.ok) return attempt(() => unlinkSync(spool.at(name))) || moveAll();
  try {
    return (
      attempt(() => unlinkSync(job.folder.at(READY_MARK))) ||
      attempt(() => renameSync(job.folder.at(READY_MARK), job.folder.at(hidden))) ||
      moveAll()
    );
  } finally {
    job.folder.close();
  }
}

/**
 * Replaces a spool by an empty folder with the same owner; its parent must be root's. Null when it cannot be
 * moved.
 */
export function replaceSpool(path: string, spool: HeldFolder): string | null {
  const { uid, gid, mode } = fstatSync(spool.fd);
  const aside = `${path}.refused-${randomBytes(6).toString('hex')}`;
  if (!attempt(() => renameSync(path, aside))) return null;
  mkdirSync(path, { mode: 0o700 });
  const made = holdFolder(path);
  if (!made.ok) throw new Error(`${path} cannot be opened (${made.code})`);
  fchmodSync(made.folder.fd, mode & 0o755);
  fchownSync(made.folder.fd, uid, gid);
  made.folder.close();
  return aside;
}

/** The spool's user may change it at any moment: system errors from that are expected. */
function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return errorCode(error) === 'ENOENT';
    throw error;
  }
}
