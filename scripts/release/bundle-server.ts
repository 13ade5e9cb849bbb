import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { packagesOf } from './packages-of.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The programs of the package: the server, its workers, its threads, and what speaks to the API. */
const PROGRAMS = {
  main: 'apps/server/src/main.ts',
  worker: 'apps/server/src/workers/worker.ts',
  'report-worker': 'apps/server/src/inventory/report-worker.ts',
  'verify-worker': 'apps/server/src/events/verify-worker.ts',
  tidegatectl: 'apps/ctl/src/main.ts',
};
/** Native code stays a package beside the bundle, one for each target. */
const NATIVE = /^@node-rs\/argon2-/;

/**
 * Bundles the server into `folder` as JavaScript for the Node of the release. Not minified: an auditor can read it, and stack
 * traces name functions. Returns the folders of the npm packages that are inside, as the lockfile names them, sorted.
 */
export async function bundleServer(folder: string): Promise<string[]> {
  const bundle = await rolldown({
    cwd: ROOT,
    input: PROGRAMS,
    platform: 'node',
    external: [NATIVE],
    onLog(level, log, report) {
      // The libraries of the server have these; everything else fails the release.
      if (log.code === 'EVAL' || log.code === 'CIRCULAR_DEPENDENCY') return;
      report(level === 'warn' ? 'error' : level, log);
    },
  });
  try {
    const { output } = await bundle.write({
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: 'shared-[hash].js',
    });
    const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
    return packagesOf(modules);
  } finally {
    await bundle.close();
  }
}
