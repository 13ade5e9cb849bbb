import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import type { DnfSet } from '@tidegate/testkit/dnf-packages';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { onTestFinished } from 'vitest';
import { createAgentOn, type InstalledAgent, must } from './host.ts';
import type { World } from './world.ts';

/** A throw-away install root of AlmaLinux 9 with the agent on it. */
export type DnfStoryHost = InstalledAgent & {
  readonly dnf: DnfHost;
  /** The output of the host's scriptlets, one line per run. */
  trace(): Promise<string[]>;
};

/** Creates a host that is enrolled and has reported; removed with the test. */
export async function enrolledDnfHost(
  { operator, proxy }: World,
  options: { packages: readonly DnfSet[]; publish?: (host: DnfHost) => Promise<void> },
): Promise<DnfStoryHost> {
  const folder = tmpDir('tidegate-e2e-dnf-');
  onTestFinished(() => folder.remove());
  await chmod(folder.path, 0o755); // the user that scans and downloads must reach it
  const dir = join(folder.path, 'dnf');
  await mkdir(dir);
  const dnf = await createDnfHost(dir, { packages: options.packages, transport: 'http' });
  onTestFinished(() => dnf.stop());
  await options.publish?.(dnf);
  const places = ['--ecosystems', 'dnf', '--dnf-root', dnf.root];
  const agent = await createAgentOn(folder.path, { serverUrl: proxy.url, machineId: 'machine-dnf', places });
  must(await agent.enrol(await operator.registrationToken()));
  must(await agent.runOnce());
  return {
    ...agent,
    dnf,
    trace: async () => {
      const text = await readFile(join(dnf.root, 'trace'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
  };
}

/** Why the dnf stories cannot run here; null if they can. */
export function dnfStoryMissing(): string | null {
  if (process.getuid?.() !== 0) return 'the stories install packages, which needs root';
  if (findTool('unshare') === null) return 'unshare is not installed (package util-linux)';
  return dnfHostMissing();
}
