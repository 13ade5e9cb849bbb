import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newestMs } from '../../scripts/newest-ms.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
/** The sources of the binary; a change in any of them makes it stale. */
const SOURCES = [
  'apps/agent',
  ...['command-line', 'protocol', 'signing', 'support', 'versions'].map((name) => `packages/${name}`),
].map((folder) => `${folder}/src`);
const BUILD_MAX_MS = 180_000;

/** The compiled agent that the stories run. */
export const AGENT_BINARY = join(REPOSITORY, 'apps/agent/dist/tidegate-agent');

/** Builds the agent if it is missing or older than its sources. Returns whether it was built. */
export async function buildAgentWhenStale(): Promise<boolean> {
  const builtMs = statSync(AGENT_BINARY, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (
    builtMs >
    newestMs(
      [...SOURCES, 'scripts/build-agent.ts', 'scripts/compile-agent.ts'].map((path) =>
        join(REPOSITORY, path),
      ),
    )
  )
    return false;
  const script = join(REPOSITORY, 'scripts/build-agent.ts');
  await promisify(execFile)(process.execPath, [script], { cwd: REPOSITORY, timeout: BUILD_MAX_MS });
  return true;
}
