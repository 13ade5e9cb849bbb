import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { aptHostMissing } from '@tidegate/testkit/apt-host';
import { type FakeOsv, startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { onTestFinished } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { createHost, type Host, type HostOptions, must } from './host.ts';
import type { Release } from './last-release.ts';
import { logIn, type Operator } from './operator.ts';
import { ecosystemsOfThisHost } from './os-release.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { startTamperingProxy, type TamperingProxy } from './tampering-proxy.ts';

/** All parts of one story; removed with the test. */
export type World = {
  readonly osv: FakeOsv;
  readonly server: ServerProcess;
  readonly operator: Operator;
  /** The proxy between every host and the server. */
  readonly proxy: TamperingProxy;
  /** A host that is not enrolled. */
  newHost(options?: Partial<HostOptions>): Promise<Host>;
  /** A host that is enrolled and has reported its updates. */
  enrolled(options?: Partial<HostOptions>): Promise<Host>;
};

/** Starts the server on its engine, the fake OSV and the proxy, and logs in the operator. */
export async function createWorld(
  engine: TestEngine,
  env: Record<string, string> = {},
  /** Whose server and agents; by default this version's. */
  release: Release | null = null,
): Promise<World> {
  const folder = tmpDir('tidegate-e2e-');
  onTestFinished(() => folder.remove());
  await chmod(folder.path, 0o755); // the user that downloads must reach its host
  const place = await engine.place();
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  onTestFinished(() => osv.stop());
  const exported = await startFakeOsvExport(osv);
  onTestFinished(() => exported.stop());
  const server = await startServer({
    ...{ ...place, advisoryUrl: osv.url, exportUrl: exported.url, env },
    ...(release && { program: release.server }),
  });
  onTestFinished(async () => void (await server.stop()));
  const proxy = await startTamperingProxy(server.url);
  onTestFinished(() => proxy.stop());
  const operator = await logIn(server.url);
  let hosts = 0;

  async function newHost(options: Partial<HostOptions> = {}): Promise<Host> {
    const name = `host-${++hosts}`;
    const dir = join(folder.path, name);
    await mkdir(dir);
    const made = await createHost(dir, {
      ...{ serverUrl: proxy.url, machineId: `machine-${name}` },
      ...(release && { program: release.agent }),
      ...options,
    });
    onTestFinished(() => made.stop());
    return made;
  }

  async function enrolled(options?: Partial<HostOptions>): Promise<Host> {
    const made = await newHost(options);
    must(await made.enrol(await operator.registrationToken()));
    must(await made.runOnce());
    return made;
  }

  return { osv, server, operator, proxy, newHost, enrolled };
}

/** Why the stories cannot run here; null if they can. */
export function storyMissing(): string | null {
  if (process.getuid?.() !== 0) return 'the stories install packages, which needs root';
  if (findTool('unshare') === null) return 'unshare is not installed (package util-linux)';
  return aptHostMissing();
}
