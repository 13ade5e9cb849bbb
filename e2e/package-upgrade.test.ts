import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { LoginAnswer } from '@tidegate/protocol/operators-api';
import { canMount } from '@tidegate/testkit/can-mount';
import { freePort } from '@tidegate/testkit/free-port';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AGENT_VERSION } from '../apps/agent/src/platform/version.ts';
import { installDebootstrap, makeDebianTree } from '../scripts/debian-tree.ts';
import { becomeFirstOperator, FIRST_OPERATOR, parsed, post } from './harness/first-operator.ts';
import { buildLastRelease } from './harness/last-release.ts';
import { runInTree, startUnit } from './harness/unit-process.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const STORY_MAX_MS = 900_000;
const BACKUP = '/var/lib/tidegate/backups/before-upgrade-*.backup';
const Hosts = Type.Object({ items: Type.Array(Type.Object({ agent_version: Type.String() })) });
const missing =
  process.getuid?.() === 0 && canMount() ? null : 'only root that may mount file systems installs packages';

describe.skipIf(missing !== null)(
  `the packages of the last release, on Debian${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('are upgraded by those of this version, which go on with their data, and back by the backup', {
      timeout: STORY_MAX_MS,
    }, async () => {
      const folder = tmpDir('tidegate-upgrade-');
      onTestFinished(() => folder.remove());
      const last = buildLastRelease();
      await installDebootstrap();
      const { root, env } = await makeDebianTree(folder.path);
      writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
      const machine = () => writeFileSync(join(root, 'etc/machine-id'), `${'5f'.repeat(16)}\n`);
      machine();
      const release = join(folder.path, 'release');
      const options = ['--fast', '--target', 'linux-x64', '--format', 'deb', '--out', release];
      await runTool(process.execPath, ['scripts/release.ts', ...options], {
        cwd: REPOSITORY,
        env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
      });
      const next = ['tidegate', 'tidegate-agent'].map((name) =>
        join(release, `${name}_${AGENT_VERSION}_linux-x64.deb`),
      );
      const install = (packages: readonly string[]) =>
        runTool('apt-get', ['-y', '--no-install-recommends', '--allow-downgrades', 'install', ...packages], {
          env,
        });

      await install(last.packages);
      machine();
      const port = String(await freePort());
      const first = startServer(root, port);
      const { url, login } = await becomeFirstOperator(first);
      const made = await post(`${url}/api/v1/admin/registration-tokens`, { label: 'host' }, login.token);
      const { token } = await parsed(made, CreatedRegistrationToken);
      const enrol = ['tidegate-agent', 'enrol', '--server', url, '--user', 'tidegate-agent'];
      await runInTree(root, [...enrol, '--machine-id-source', 'machine-id'], { TIDEGATE_TOKEN: token });
      await checkIn(root);
      expect(await versions(url)).toEqual([last.version]);
      await stop(first);

      const comesUp = async (version: string) => {
        const server = startServer(root, port);
        await server.line(/listening/);
        await checkIn(root);
        expect(await versions(url)).toEqual([version]);
        await stop(server);
      };
      await install(next);
      await comesUp(AGENT_VERSION);

      // The way back of docs/install.md.
      await install(last.packages);
      const refused = startServer(root, port);
      await refused.line(/or restore the backup that it made before the upgrade/);
      expect((await refused.ended).code).toBe(1);
      const restored = await runInTree(root, ['sh', '-c', `tidegate restore ${BACKUP}`]);
      expect(restored).toContain('the next start begins a new epoch');
      await comesUp(last.version);
    });
  },
);

function startServer(tree: string, port: string) {
  const env = { SERVICE_PORT: port, SERVICE_ADVISORY_SOURCE: 'off' };
  const child = startUnit({ tree, unit: 'tidegate.service', env });
  onTestFinished(() => child.signal('SIGKILL'));
  return child;
}

async function checkIn(tree: string): Promise<void> {
  const agent = startUnit({ tree, unit: 'tidegate-agent.service', args: ['--once'] });
  const { code } = await agent.ended;
  expect([code, agent.stderr.slice(-5)]).toEqual([0, expect.anything()]);
}

/** The versions that the agents of the fleet have. */
async function versions(url: string): Promise<unknown[]> {
  const login = await parsed(await post(`${url}/api/v1/auth/login`, FIRST_OPERATOR), LoginAnswer);
  const answer = await fetch(`${url}/api/v1/agents`, { headers: { authorization: `Bearer ${login.token}` } });
  return (await parsed(answer, Hosts)).items.map((host) => host.agent_version);
}

async function stop(child: ReturnType<typeof startServer>): Promise<void> {
  child.signal('SIGTERM');
  expect((await child.ended).code).toBe(0);
}
