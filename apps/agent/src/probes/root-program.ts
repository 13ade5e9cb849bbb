import { constants, lstatSync } from 'node:fs';
import { findLooseFolder, type PolicyPlace } from '../host-policy/policy-folders.ts';

/**
 * Why root does not run a program; null if nobody but root can change it: a plain file of root's, no link, in folders
 * that belong to root. What it was when it was looked at, it is when it runs.
 */
export function findProgramFault(program: string, { ownerUid, top }: PolicyPlace): string | null {
  const stat = lstatSync(program, { throwIfNoEntry: false });
  if (stat === undefined) return `${program} does not exist`;
  if (stat.isSymbolicLink()) return `${program} is a link: name the file that it leads to`;
  if (!stat.isFile()) return `${program} is not a file`;
  if (ownerUid !== null && stat.uid !== ownerUid && stat.uid !== 0) {
    return `${program} belongs to user ${stat.uid}`;
  }
  if ((stat.mode & 0o022) !== 0) return `${program} can be written by others`;
  if ((stat.mode & constants.S_IXUSR) === 0) return `${program} cannot be executed`;
  return findLooseFolder({ path: program, ownerUid, top });
}
