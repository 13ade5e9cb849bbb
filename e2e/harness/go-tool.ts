import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedFolder } from '../../scripts/release/cached-folder.ts';

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/tidegate-tools', import.meta.url));

/** Whether this machine can build Go programs. */
export function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A program of a Go module at one version, built once. Go compares the sources with its checksum database. */
export function goTool({ path, version }: { path: string; version: string }): string {
  const name = basename(path);
  const folder = join(CACHE, `${path.replaceAll('/', '+')}@${version}`);
  return join(
    cachedFolder(folder, (work) => {
      execFileSync('go', ['install', `${path}@${version}`], {
        env: { ...process.env, GOBIN: work, GOFLAGS: '-buildvcs=false' },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      return work;
    }),
    name,
  );
}
