import { join } from 'node:path';
import type { ProgramResult } from '../../platform/run-program.ts';
import type { NpmSession } from './session.ts';

/** Maximum URLs per npm call: command lines are limited in length. */
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

/** Downloads files into npm's cache. The caller must verify them: npm has no hash for them. */
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
