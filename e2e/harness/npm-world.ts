import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import { marking, NPM_DEMO } from '@tidegate/testkit/npm-packages';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { onTestFinished } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { createAgentOn, type InstalledAgent, must } from './host.ts';
import { createWorld, type World } from './world.ts';

/** A host with global packages and a project of npm, in a world with a registry. */
export type NpmWorld = Omit<World, 'newHost' | 'enrolled'> & {
  readonly npm: NpmHost;
  /** An enrolled agent that has reported its updates. */
  readonly agent: InstalledAgent;
  /** The file that a lifecycle script would create. */
  readonly mark: string;
};

/**
 * Creates a prefix and a project with old versions, a registry with newer ones, and the agent for them.
 *
 * @param prepare Adds what is known before the agent reports: the server asks as soon as it has a plan, and
 *   remembers the answer.
 */
export async function createNpmWorld(
  engine: TestEngine,
  { env = {}, prepare }: { env?: Record<string, string>; prepare?: (osv: World['osv']) => void } = {},
): Promise<NpmWorld> {
  const folder = tmpDir('tidegate-e2e-npm-');
  onTestFinished(() => folder.remove());
  await chmod(folder.path, 0o755); // the user that downloads must reach its host
  const dir = join(folder.path, 'host');
  await mkdir(dir);
  const marks = join(folder.path, 'marks');
  await mkdir(marks);
  await chmod(marks, 0o777); // the owner of the folder could write a mark here
  const mark = join(marks, 'mark');
  const offered = NPM_DEMO.offered.map((pkg) => marking(pkg, mark));
  const npm = await createNpmHost(dir, { packages: { ...NPM_DEMO, offered } });
  onTestFinished(() => npm.stop());
  const registry = npm.registry.url;
  const world = await createWorld(engine, { SERVICE_NPM_REGISTRY_URL: registry, ...env });
  prepare?.(world.osv);
  const agent = await createAgentOn(dir, {
    serverUrl: world.proxy.url,
    machineId: 'machine-of-npm',
    places: [
      ...['--ecosystems', 'npm', '--npm-registry', `${registry}/`],
      ...['--npm-prefix', npm.prefix, '--npm-project', npm.project],
    ],
  });
  must(await agent.enrol(await world.operator.registrationToken()));
  must(await agent.runOnce());
  const { osv, server, operator, proxy } = world;
  return { osv, server, operator, proxy, npm, agent, mark };
}

/** Why these stories cannot run here; null if they can. */
export function npmStoryMissing(): string | null {
  if (process.getuid?.() !== 0) return 'the stories install packages, which needs root';
  if (findTool('unshare') === null) return 'unshare is not installed (package util-linux)';
  return npmHostMissing();
}
