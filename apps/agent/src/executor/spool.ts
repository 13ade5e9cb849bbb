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
import { Uuid } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { READY_MARK } from '../jobs/job-folder.ts';
import { errorCode } from '../platform/file-layer.ts';
import { type HeldFolder, holdFolder } from '../platform/held-folder.ts';

/** Most entries of a spool that are looked at, one by one; an agent leaves one job at a time. */
const ENTRIES_MAX = 10_000;
/** Most jobs that one look answers, the oldest first by their id (UUIDv7). */
const JOBS_MAX = 16;

/** What one look through a spool came to. */
export interface SpoolLook {
  /** Names of the folders that hold a whole job. */
  jobs: string[];
  /** How many entries are out of the path unit's sight now that were no jobs, or too many. */
  setAside: number;
  /** There is more than is looked at, or a name that cannot be told: the spool as a whole has to go. */
  isFlooded: boolean;
}

/**
 * Finds the whole jobs, and takes everything else out of the path unit's sight that its pattern (any folder, also by a
 * link, in which any `ready` stands) would match. Whoever fills the spool decides what lies in it: nothing is followed,
 * opened for reading or waited for.
 */
export function lookThrough(spool: HeldFolder): SpoolLook {
  const whole: string[] = [];
  let [entries, setAside, isFlooded] = [0, 0, false];
  const folder = opendirSync(spool.here);
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      if (entry.name.startsWith('.')) continue; // the pattern does not match them
      entries += 1;
      // A name that is no UTF-8 cannot be told, and so not be acted on.
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

/** A folder without a mark may be a job that is still being written. */
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
    if (errorCode(error) === 'ENOTDIR') return 'absent'; // the folder is none any more
    throw error;
  }
}

/** Takes a mark out of the pattern's sight: it goes, or it gets another name, or its folder does. Whether one of them worked. */
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

/** Puts an empty folder with the same owner in the place of a spool, whose own folder must be root's. Null where it cannot be moved. */
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

/** Whoever fills the spool may change it at any moment: what the system answers then is no fault of ours. */
function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return errorCode(error) === 'ENOENT';
    throw error;
  }
}
