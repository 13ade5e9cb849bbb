import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createPypiHost, type PypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import type { PypiPackage } from '@tidegate/testkit/pypi-packages';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { onTestFinished } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { createAgentOn, type InstalledAgent, must } from './host.ts';
import { createWorld, type World } from './world.ts';

/** A host with managed Python packages, in a world with an index. */
export type PypiWorld = Omit<World, 'newHost' | 'enrolled'> & {
  readonly index: PypiIndex;
  readonly environment: PypiHost;
  /** An enrolled agent that has reported its updates. */
  readonly agent: InstalledAgent;
  /** One line for each run of the environment's interpreter: `uid devices`. */
  readonly traceFile: string;
};

/** Creates an environment with old versions, an index with newer ones, and the agent for both. */
export async function createPypiWorld(
  engine: TestEngine,
  packages: {
    installed: readonly PypiPackage[];
    offered: readonly PypiPackage[];
    /** Adds what is known before the agent reports. */
    prepare?: (osv: World['osv']) => void;
  },
  env: Record<string, string> = {},
): Promise<PypiWorld> {
  const index = await startPypiIndex([...packages.installed, ...packages.offered]);
  onTestFinished(() => index.stop());
  const registry = { SERVICE_PYPI_URL: index.url.replace(/\/simple$/, '') };
  const world = await createWorld(engine, { ...registry, ...env });
  packages.prepare?.(world.osv);
  const folder = tmpDir('tidegate-e2e-pypi-');
  onTestFinished(() => folder.remove());
  await chmod(folder.path, 0o755); // the user that downloads must reach its host
  const environment = await createPypiHost(join(folder.path, 'env'), { installed: packages.installed });
  const traceFile = join(folder.path, 'trace');
  await writeFile(join(environment.sitePackages, 'trace.pth'), traceLine(traceFile));
  const dir = join(folder.path, 'host');
  await mkdir(dir);
  const agent = await createAgentOn(dir, {
    serverUrl: world.proxy.url,
    machineId: 'machine-of-python',
    places: ['--ecosystems', 'pypi', '--pypi-environment', environment.path, '--pypi-index', index.url],
  });
  must(await agent.enrol(await world.operator.registrationToken()));
  must(await agent.runOnce());
  const { osv, server, operator, proxy } = world;
  return { osv, server, operator, proxy, index, environment, agent, traceFile };
}

/** A line that every interpreter of the environment runs at its start; it logs user and network devices. */
function traceLine(file: string): string {
  const devices = "[line.split(':')[0].strip() for line in open('/proc/self/net/dev').readlines()[2:]]";
  const words = `str(os.getuid()) + ' ' + ','.join(${devices}) + chr(10)`;
  return `import os; open('${file}', 'a').write(${words})\n`;
}

/** Why these stories cannot run here; null if they can. */
export function pypiStoryMissing(): string | null {
  if (process.getuid?.() !== 0) return 'the stories install packages, which needs root';
  if (findTool('unshare') === null) return 'unshare is not installed (package util-linux)';
  return pypiHostMissing();
}
