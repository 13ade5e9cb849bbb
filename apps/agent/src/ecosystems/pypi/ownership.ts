import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Most entries of an environment that are looked at; a large one has some 60,000. */
const ENTRIES_MAX = 500_000;

/**
 * What keeps a path from being the word of these users alone: a step of it that is a link, belongs to somebody else or
 * can be written by others. A sticky folder of root's, as /tmp is, keeps others from exchanging what lies in it. Null
 * when nothing does.
 */
export async function findForeignStep(path: string, uids: ReadonlySet<number>): Promise<string | null> {
  for (let step = path; ; step = dirname(step)) {
    const stat = await lstat(step).catch(() => null);
    if (stat === null) return `${step} cannot be looked at`;
    if (stat.isSymbolicLink()) return `${step} is a link`;
    if (!uids.has(stat.uid)) return `${step} belongs to user ${stat.uid}`;
    const isGuarded = (stat.mode & 0o1000) !== 0 && stat.uid === 0 && stat.isDirectory() && step !== path;
    if ((stat.mode & 0o022) !== 0 && !isGuarded) return `${step} can be written by others`;
    if (step === dirname(step)) return null;
  }
}

/** What below a folder belongs to somebody else or can be written by others; null when nothing does. Links are not followed. */
export async function findForeignEntry(folder: string, uid: number): Promise<string | null> {
  let looked = 0;
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => null);
    if (entries === null) return `${at} cannot be looked into`;
    for (const entry of entries) {
      looked += 1;
      if (looked > ENTRIES_MAX) return `${folder} has over ${ENTRIES_MAX} entries`;
      const path = join(at, entry.name);
      const stat = await lstat(path).catch(() => null);
      if (stat === null) return `${path} cannot be looked at`;
      if (stat.uid !== uid) return `${path} belongs to user ${stat.uid}`;
      if (stat.isSymbolicLink()) continue; // its own mode says nothing, and whose it is was just seen
      if ((stat.mode & 0o022) !== 0) return `${path} can be written by others`;
      if (stat.isDirectory()) open.push(path);
    }
  }
  return null;
}
