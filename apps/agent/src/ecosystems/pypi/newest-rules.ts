import { compareVersions } from '@tidegate/versions';
import { isPreRelease } from './names-rules.ts';
import type { IndexFile } from './parse-index-page.ts';
import { allowsPython } from './requires-python-rules.ts';

/**
 * The newest version above the installed one that an index offers for this Python version, without pre-releases
 * and yanked files. A version with only a source distribution counts; planning it fails with the reason. Null
 * when there is none.
 */
export function findNewest(
  files: readonly IndexFile[],
  installed: { version: string; pythonVersion: string },
): IndexFile | null {
  let newest: IndexFile | null = null;
  for (const file of files) {
    if (file.yanked || isPreRelease(file.version)) continue;
    if (file.requiresPython !== null && !allowsPython(file.requiresPython, installed.pythonVersion)) continue;
    if (compareVersions('pypi', installed.version, file.version) !== -1) continue;
    const order = newest === null ? 1 : compareVersions('pypi', file.version, newest.version);
    // A wheel is preferred over the other files of a version.
    if (order === 1 || (order === 0 && newest?.kind === 'sdist' && file.kind === 'wheel')) newest = file;
  }
  return newest;
}

/** Whether a version exists only as source. */
export function isSourceOnly(files: readonly IndexFile[], version: string): boolean {
  const same = files.filter((file) => compareVersions('pypi', file.version, version) === 0);
  return same.length > 0 && same.every(({ kind }) => kind === 'sdist');
}
