import { lstatSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../platform/file-layer.ts';

/** The path of the policy and its required owner. A job cannot change either. */
export interface PolicyPlace {
  path: string;
  /** root; null where the platform has no owners. */
  ownerUid: number | null;
  /** Every folder below this one is checked. */
  top: string;
}

/** The first folder on the way to the file that somebody else could change, also behind links; null when none can be. */
export function findLooseFolder(place: PolicyPlace): string | null {
  const folders = [...foldersTo(dirname(place.path), place.top)];
  try {
    folders.push(...foldersTo(realpathSync(dirname(place.path)), place.top));
  } catch (error) {
    return `its folder cannot be resolved (${errorCode(error)})`;
  }
  for (const folder of folders) {
    const fault = findFault(folder, place);
    if (fault !== null) return fault;
  }
  return null;
}

function foldersTo(folder: string, top: string): string[] {
  const parent = dirname(folder);
  return folder === top || parent === folder ? [folder] : [...foldersTo(parent, top), folder];
}

/** A folder that does not exist has no fault. */
export function findFault(folder: string, { ownerUid }: PolicyPlace): string | null {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || ownerUid === null) return null;
  if (stat.uid !== ownerUid && stat.uid !== 0) {
    return `${folder} belongs to user ${stat.uid}: "chown root:root ${folder}"`;
  }
  if (stat.isSymbolicLink()) return null; // what it points to is looked at by its real name
  if (!stat.isDirectory()) return `${folder} is not a folder`;
  return (stat.mode & 0o022) === 0
    ? null
    : `${folder} can be written by others: "chmod go-w ${folder}", or keep the policy elsewhere`;
}
