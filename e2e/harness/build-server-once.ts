import { copyFileSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundleServer } from '../../scripts/release/bundle-server.ts';
import { swapFolder } from '../../scripts/swap-folder.ts';
import { newestMs } from './newest-ms.ts';
import { BUILT_SERVER } from './server-process.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
/** A change in any of them makes the build stale. */
const INPUTS = [
  'apps/ctl',
  'apps/server',
  'packages',
  'package-lock.json',
  'scripts/release/bundle-server.ts',
  'e2e/harness/build-server-once.ts',
];

/** Vitest global set-up: the stories run the server as a release has it, not its sources. */
export async function setup(): Promise<void> {
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
