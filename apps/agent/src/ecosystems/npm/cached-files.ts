import { join } from 'node:path';
import type { ProgramResult } from '../../platform/run-program.ts';
import type { NpmSession } from './session.ts';

/** Addresses of one call of npm: a command line has an end. */
const CALL_MAX_ADDRESSES = 100;

/** Where npm's cache keeps a file with this SHA-512. */
export function cachedPath(cache: string, sha512: string): string {
  return join(
    cache,
    '_cacache',
    'content-v2',
    'sha512',
    sha512.slice(0, 2),
    sha512.slice(2, 4),
    sha512.slice(4),
  );
}

/** Has npm download files into its cache. What they are is for the caller to find out: npm knows no hash of them. */
export async function download(
  session: NpmSession,
  urls: readonly string[],
): Promise<Extract<ProgramResult, { ok: false }> | null> {
  const cwd = await session.makeFolder({});
  const distinct = [...new Set(urls)];
  for (let at = 0; at < distinct.length; at += CALL_MAX_ADDRESSES) {
    const chunk = distinct.slice(at, at + CALL_MAX_ADDRESSES);
    const run = await session.run(['cache', 'add', '--', ...chunk], { cwd, onOverflow: 'keep_tail' });
    if (!run.ok) return run;
  }
  return null;
}
