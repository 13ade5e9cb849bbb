import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A folder of a cache, filled when it is absent. `fill` gets a new folder beside it to work in, and returns the one there
 * that takes the place as a whole; where another process was faster, that one's stays. Throws what `fill` throws.
 */
export function cachedFolder(folder: string, fill: (work: string) => string): string {
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(join(dirname(folder), '.filling-'));
  try {
    const filled = fill(work);
    if (!existsSync(folder)) renameSync(filled, folder);
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
