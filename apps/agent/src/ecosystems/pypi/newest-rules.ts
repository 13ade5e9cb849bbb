import { compareVersions } from '@tidegate/versions';
import { isPreRelease } from './names-rules.ts';
import type { IndexFile } from './parse-index-page.ts';
import { allowsPython } from './requires-python-rules.ts';

/**
 * The newest version above the installed one that an index offers to a Python of this version: no pre-release and
 * nothing yanked. A version that has a source distribution alone counts: it exists, and asking for a plan tells why
 * there is none. Null when there is none.
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
    // Of the files of one version a wheel is the one that would be used.
    if (order === 1 || (order === 0 && newest?.kind === 'sdist' && file.kind === 'wheel')) newest = file;
  }
  return newest;
}

/** Whether a version can only be had by building it. */
export function isSourceOnly(files: readonly IndexFile[], version: string): boolean {
  const same = files.filter((file) => compareVersions('pypi', file.version, version) === 0);
  return same.length > 0 && same.every(({ kind }) => kind === 'sdist');
}
