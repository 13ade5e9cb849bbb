import { appendFileSync, closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { syncPath } from '../platform/sync-path.ts';
import { CommandFault } from './open-installation.ts';

/** Writes lines into a file that must not exist yet; it is on disk, with its name, when it resolves with their number. */
export async function writeNew(path: string, parts: AsyncIterable<string[]>): Promise<number> {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new CommandFault(`${path} cannot be created (${code})`);
  }
  let count = 0;
  try {
    for await (const lines of parts) {
      appendFileSync(file, `${lines.join('\n')}\n`);
      count += lines.length;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncPath(dirname(resolve(path)));
  return count;
}
