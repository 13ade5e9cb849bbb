import { copyFileSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newestMs } from '../newest-ms.ts';
import { swapFolder } from '../swap-folder.ts';
import { bundleServer } from './bundle-server.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
/** The server of this version in the form of a release, which starts in a third of the time that the sources take. */
export const BUILT_SERVER = join(REPOSITORY, 'node_modules/.cache/built-server');
/** A change in any of them makes the build stale. */
const INPUTS = [
  'apps/ctl',
  'apps/server',
  'packages',
  'package-lock.json',
  'scripts/release/bundle-server.ts',
  'scripts/release/build-server.ts',
];

/** Builds it anew if a source has changed since. */
export async function buildServer(): Promise<void> {
  const built = statSync(BUILT_SERVER, { throwIfNoEntry: false });
  if (built && built.mtimeMs > newestMs(INPUTS.map((path) => join(REPOSITORY, path)))) return;
  const folder = `${BUILT_SERVER}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  await bundleServer(join(folder, 'server'));
  // The server finds its version and the console beside the bundle.
  copyFileSync(join(REPOSITORY, 'apps/server/package.json'), join(folder, 'package.json'));
  symlinkSync(join(REPOSITORY, 'apps/console/dist'), join(folder, 'console'));
  swapFolder(folder, BUILT_SERVER);
  process.stderr.write('The server was built.\n');
}
