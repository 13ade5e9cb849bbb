import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** When the newest of these files, or of the files below these folders, was changed; 0 if there is none. */
export function newestMs(paths: readonly string[]): number {
  const times = paths.map((path) => {
    const stat = statSync(path);
    if (!stat.isDirectory()) return stat.mtimeMs;
    return newestMs(readdirSync(path).map((name) => join(path, name)));
  });
  return Math.max(0, ...times);
}
