import { compareVersions } from '@tidegate/versions';
import { isPreRelease } from './names-rules.ts';
import type { IndexFile } from './parse-index-page.ts';
import { allowsPython } from './requires-python-rules.ts';

/**
 * The versions above the installed one that an index offers for this Python version, in rising order, one file of each,
 * without pre-releases and yanked files. A version with only a source distribution counts; planning it fails with the
 * reason.
 */
export function findNewer(
  files: readonly IndexFile[],
  installed: { version: string; pythonVersion: string },
): IndexFile[] {
  const newer = files.filter(
    (file) =>
      !file.yanked &&
      !isPreRelease(file.version) &&
      (file.requiresPython === null || allowsPython(file.requiresPython, installed.pythonVersion)) &&
      compareVersions('pypi', installed.version, file.version) === -1,
  );
  newer.sort((a, b) => Number(compareVersions('pypi', a.version, b.version)));
  const found: IndexFile[] = [];
  for (const file of newer) {
    const last = found.at(-1);
    if (last === undefined || compareVersions('pypi', last.version, file.version) !== 0) found.push(file);
    // A wheel is preferred over the other files of a version.
    else if (last.kind === 'sdist' && file.kind === 'wheel') found[found.length - 1] = file;
  }
  return found;
}

/** Whether a version exists only as source. */
export function isSourceOnly(files: readonly IndexFile[], version: string): boolean {
  const same = files.filter((file) => compareVersions('pypi', file.version, version) === 0);
  return same.length > 0 && same.every(({ kind }) => kind === 'sdist');
}
