import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { LeftFile } from '@tidegate/protocol/package-condition';
import { errorCode } from '../platform/file-layer.ts';

export interface ConfigurationFile {
  /** As the package names it: absolute, without the root of the host. */
  readonly path: string;
  readonly package?: string;
}

/**
 * The files that package managers left beside configuration files that were changed on the host. Only the folders of these
 * files are listed; a folder that may not be read is counted, because what lies there is not known.
 */
export async function findLeftFiles(
  files: readonly ConfigurationFile[],
  { root, suffixes }: { root: string; suffixes: readonly string[] },
): Promise<{ left: LeftFile[]; unreadFolders: number }> {
  const left: LeftFile[] = [];
  let unreadFolders = 0;
  for (const [folder, members] of Map.groupBy(files, ({ path }) => dirname(path))) {
    const names = await namesIn(join(root, folder));
    if (names === null) {
      unreadFolders += 1;
      continue;
    }
    for (const { path, package: name } of members) {
      for (const suffix of suffixes) {
        if (!names.has(`${basename(path)}${suffix}`)) continue;
        left.push({ path: `${path}${suffix}`, ...(name !== undefined && { package: name }) });
      }
    }
  }
  left.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { left, unreadFolders };
}

/** Empty where there is no such folder; null where it may not be read. */
async function namesIn(folder: string): Promise<ReadonlySet<string> | null> {
  try {
    return new Set(await readdir(folder));
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? new Set() : null;
  }
}
