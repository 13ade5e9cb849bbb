import { renameSync, rmSync } from 'node:fs';

/**
 * Replaces a folder with another as a whole: a reader finds all of the old folder, all of the new one, or for an instant
 * none. If another process puts its folder there at the same moment, that one stays. Both must be on one file system.
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
