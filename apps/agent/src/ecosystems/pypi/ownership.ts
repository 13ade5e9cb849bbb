import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Maximum entries checked in an environment; a large one has about 60,000. */
const ENTRIES_MAX = 500_000;

/**
 * Why others than these users could change what a path refers to: a step is a link, belongs to somebody else or
 * is writable by others. Root's sticky folders such as /tmp are safe, as others cannot replace entries in them.
 * Null when nobody else can.
 */
export async function findForeignStep(path: string, uids: ReadonlySet<number>): Promise<string | null> {
  for (let step = path; ; step = dirname(step)) {
    const stat = await lstat(step).catch(() => null);
    if (stat === null) return `${step} cannot be inspected`;
    if (stat.isSymbolicLink()) return `${step} is a link`;
    if (!uids.has(stat.uid)) return `${step} belongs to user ${stat.uid}`;
    const isGuarded = (stat.mode & 0o1000) !== 0 && stat.uid === 0 && stat.isDirectory() && step !== path;
    if ((stat.mode & 0o022) !== 0 && !isGuarded) return `${step} can be written by others`;
    if (step === dirname(step)) return null;
  }
}

/**
 * Finds an entry that belongs to another user or is writable by others; null when there is none. Follows no
 * links.
 */
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
      if (stat === null) return `${path} cannot be inspected`;
      if (stat.uid !== uid) return `${path} belongs to user ${stat.uid}`;
      if (stat.isSymbolicLink()) continue; // a link's mode is meaningless; its owner was checked
      if ((stat.mode & 0o022) !== 0) return `${path} can be written by others`;
      if (stat.isDirectory()) open.push(path);
    }
  }
  return null;
}
