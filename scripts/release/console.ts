import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'apps/console/dist');
/** Notes of the build, for the build. */
const NOT_SERVED = ['packages.json', 'manifest.json', 'sources.sha256'].map((name) => join(DIST, name));

/** Builds the console and copies it to `folder`. Returns the folders of the npm packages inside, as the lockfile names them. */
export function buildConsole(folder: string): string[] {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-console.ts'), '--when-stale'], {
    stdio: 'inherit',
  });
  cpSync(DIST, folder, { recursive: true, filter: (path) => !NOT_SERVED.includes(path) });
  return Value.Parse(
    Type.Array(Type.String()),
    JSON.parse(readFileSync(join(DIST, 'packages.json'), 'utf8')),
  );
}
