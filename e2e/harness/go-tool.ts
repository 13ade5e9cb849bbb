import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
  const program = join(folder, name);
  if (existsSync(program)) return program;
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, '.go-'));
  try {
    execFileSync('go', ['install', `${path}@${version}`], {
      env: { ...process.env, GOBIN: work, GOFLAGS: '-buildvcs=false' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (!existsSync(program)) renameSync(work, folder);
    return program;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
