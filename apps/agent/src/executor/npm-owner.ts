import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { folderOfPlace, type NpmPlace } from '../ecosystems/npm/locations.ts';
import type { Parsed } from '../ecosystems/npm/lockfile.ts';
import { errorCode } from '../platform/file-layer.ts';
import type { Identity } from '../platform/run-program.ts';

/** For an owner whom the host does not know, a group with nothing of its own. */
const NO_GROUP = 65_534;

/** What is asked of each folder. */
export interface FolderFacts {
  path: string;
  uid: number;
  mode: number;
}

/**
 * Who acts in a place: its owner, so that a package never gets more rights than that (decision 0009). Null for this
 * very process. Where the owner is root, nobody else may be able to change where the path leads.
 */
export function findOwner(
  place: NpmPlace,
  passwd = readFileSync('/etc/passwd', 'utf8'),
): Parsed<Identity | null> {
  const folder = place.kind === 'global' ? `${folderOfPlace(place)}/node_modules` : place.path;
  try {
    if (realpathSync(folder) !== folder) return { ok: false, reason: `${folder} leads through a link` };
    const { uid } = lstatSync(folder);
    const own = process.getuid?.() ?? uid;
    if (uid === 0) {
      const fault = findOpenFolder(chainOf(folder));
      if (fault !== null) return { ok: false, reason: fault };
    }
    if (uid === own) return { ok: true, value: null };
    if (own !== 0) return { ok: false, reason: `${folder} belongs to another user` };
    return { ok: true, value: { uid, gid: groupOf(uid, passwd) } };
  } catch (error) {
    return { ok: false, reason: `${folder} cannot be read (${errorCode(error)})` };
  }
}

/** A folder and all above it, the top first. */
function chainOf(folder: string): FolderFacts[] {
  const above = folder === '/' ? [] : chainOf(dirname(folder));
  const { uid, mode } = lstatSync(folder);
  return [...above, { path: folder, uid, mode }];
}

/** The first folder that somebody but root can write, for a place of root's; null when there is none. */
export function findOpenFolder(chain: readonly FolderFacts[]): string | null {
  const open = chain.find(({ uid, mode }) => uid !== 0 || (mode & 0o022) !== 0);
  return open === undefined ? null : `${open.path} can be written by others than root`;
}

/** The group of the folder is not asked: it may be one that its owner is not in. */
export function groupOf(uid: number, passwd: string): number {
  const fields = passwd.split('\n').map((line) => line.split(':'));
  const gid = Number(fields.find(([, , id]) => id === String(uid))?.[3] ?? NO_GROUP);
  return Number.isSafeInteger(gid) ? gid : NO_GROUP;
}
