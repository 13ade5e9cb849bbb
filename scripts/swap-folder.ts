import { renameSync, rmSync } from 'node:fs';

/**
 * Puts a folder in the place of another, whole: who reads there finds all of the old one, all of the new, or for an instant
 * neither. Where somebody else puts one there at the same moment, that one stays. Both are on one file system.
 */
export function swapFolder(made: string, place: string): void {
  const old = `${made}.old`;
  renameIfThere(place, old);
  try {
    renameSync(made, place);
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    rmSync(made, { recursive: true });
  }
  rmSync(old, { recursive: true, force: true });
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
