import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { folderOfPlace, type NpmPlace } from '../ecosystems/npm/locations.ts';
import type { Parsed } from '../ecosystems/npm/lockfile.ts';
import { errorCode } from '../platform/file-layer.ts';
import type { Identity } from '../platform/run-program.ts';

/** The group for an owner unknown to the host: one without rights. */
const NO_GROUP = 65_534;

/** What is asked of each folder. */
export interface FolderFacts {
  path: string;
  uid: number;
  mode: number;
}

/**
 * The user to act as in a place: its owner, so that a package never gets more rights (decision 0009). Null for
 * this process's user. If the owner is root, nobody else may be able to redirect the path.
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

/** For a place of root's, the first folder that others can write; null when there is none. */
export function findOpenFolder(chain: readonly FolderFacts[]): string | null {
  const open = chain.find(({ uid, mode }) => uid !== 0 || (mode & 0o022) !== 0);
  return open === undefined ? null : `${open.path} can be written by others than root`;
}

/** The folder's group is not used: its owner may not be a member. */
export function groupOf(uid: number, passwd: string): number {
  const fields = passwd.split('\n').map((line) => line.split(':'));
  const gid = Number(fields.find(([, , id]) => id === String(uid))?.[3] ?? NO_GROUP);
  return Number.isSafeInteger(gid) ? gid : NO_GROUP;
}
