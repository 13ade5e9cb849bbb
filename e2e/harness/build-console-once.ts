import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SCRIPT = fileURLToPath(new URL('../../scripts/build-console.ts', import.meta.url));
const BUILD_MAX_MS = 120_000;

/** Vitest global set-up: the stories open the built console. */
export async function setup(): Promise<void> {
  const args = [SCRIPT, '--when-stale'];
  const { stderr } = await promisify(execFile)(process.execPath, args, { timeout: BUILD_MAX_MS });
  process.stderr.write(stderr);
}
