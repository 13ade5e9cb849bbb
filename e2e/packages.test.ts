import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentPackages } from '@tidegate/protocol/agent-packages-api';
import { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { canMount } from '@tidegate/testkit/can-mount';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { installLine } from '../apps/console/src/enrolment/line-rules.ts';
import { type DebianTree, installDebootstrap, makeDebianTree } from '../scripts/debian-tree.ts';
import type { Child } from './harness/child.ts';
import { becomeFirstOperator, FIRST_OPERATOR, parsed, post } from './harness/first-operator.ts';
import { readmeCommand } from './harness/readme.ts';
import { runInTree, startUnit } from './harness/unit-process.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = 'node_modules/';
const REGION = /^\/\/ node_modules\/(?:.*\/node_modules\/)?((?:@[^/\s]+\/)?[^/\s]+)/gm;
/** Its one module is bundled without a mark; the other is native code beside the bundle. */
const UNMARKED = ['@node-rs/argon2', '@node-rs/argon2-linux-x64-gnu'];
const isLong = process.env.TIDEGATE_LONG === '1';
const SETUP_MAX_MS = 600_000;
const missing =
  process.getuid?.() === 0 && canMount() ? null : 'only root that may mount file systems installs packages';

describe.skipIf(missing !== null)(
  `the packages${missing === null ? '' : ` (${missing})`}, on a Debian tree`,
  () => {
    const folder = tmpDir('tidegate-packages-');
    const release = join(folder.path, 'release');
    const server: { tree: DebianTree | null } = { tree: null };
    const treeOf = () => {
      if (server.tree === null) throw new Error('there is no tree');
      return server.tree;
    };
    const path = (name: string) => join(treeOf().root, name);
    const apt = (...args: string[]) =>
      runTool('apt-get', ['-y', '--no-install-recommends', ...args], { env: treeOf().env });
    const fileOf = (name: string, ending: string) =>
      join(release, `${name}_0.2.0_${name === 'tidegate-agents' ? 'all' : 'linux-x64'}.${ending}`);
    const packageOf = (name: string) => fileOf(name, 'deb');

    beforeAll(async () => {
      const key = join(folder.path, 'release.key');
      writeFileSync(key, generatePrivateKeyHex(new Uint8Array(32).fill(7)));
      // Only what is tested here; the release as a whole is built by `npm run test:long`.
      const few = [
        '--fast',
        '--target',
        'linux-x64',
        '--format',
        'deb',
        ...(isLong ? ['--format', 'rpm', '--format', 'tar.gz'] : []),
        '--release-key',
        key,
        '--out',
        release,
      ];
      const built = runTool(process.execPath, ['scripts/release.ts', ...few], {
        cwd: REPOSITORY,
        env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
      });
      await installDebootstrap();
      [server.tree] = await Promise.all([makeDebianTree(folder.path), built]);
      // What the installer of a real host writes.
      writeFileSync(path('etc/hosts'), '127.0.0.1 localhost\n');
      writeFileSync(path('etc/machine-id'), `${'5f'.repeat(16)}\n`);
    }, SETUP_MAX_MS);
    afterAll(() => folder.remove());

    test.each(['tidegate', 'tidegate-agent', 'tidegate-agents'])(
      'list every file of %s in its SBOM, and no other',
      async (name) => {
        const unpacked = join(folder.path, `unpacked-${name}`);
        await runTool('dpkg-deb', ['-x', packageOf(name), unpacked]);
        const found = await runTool('find', ['.', '-type', 'f', '-printf', '/%P\\n'], { cwd: unpacked });
        const files = (await sbomOf(name)).filter(({ type }) => type === 'file');
        expect(files.map((file) => file.name).toSorted()).toEqual(found.trim().split('\n').toSorted());
        const sums = files.map((file) => `${file.hashes?.[0]?.content}  .${file.name}\n`).join('');
        await runTool('sha256sum', ['--check', '--strict', '--quiet', '-'], { cwd: unpacked, input: sums });
      },
    );

    test('list every library of the server in its SBOM, and no other', async () => {
      const bundle = join(folder.path, 'unpacked-tidegate/usr/lib/tidegate/server');
      const code = readdirSync(bundle)
        .filter((name) => name.endsWith('.js'))
        .map((name) => readFileSync(join(bundle, name), 'utf8'));
      // The bundler marks the modules that it took.
      const bundled = new Set(
        code.flatMap((text) => [...text.matchAll(REGION)].map(([, name = '']) => name)),
      );
      const console = Value.Parse(
        Type.Array(Type.String()),
        JSON.parse(readFileSync(join(REPOSITORY, 'apps/console/dist/packages.json'), 'utf8')),
      ).map((path) => path.slice(path.lastIndexOf(FOLDER) + FOLDER.length));
      const libraries = (await sbomOf('tidegate')).filter(({ type }) => type === 'library');
      expect(bundled.size).toBeGreaterThan(50);
      expect([...new Set(libraries.map(({ name }) => name))].toSorted()).toEqual(
        [...new Set([...bundled, ...console, ...UNMARKED])].toSorted(),
      );
    });

    test(
      'install the server, which its unit starts, and the first host',
      async () => {
        await runTool('sh', ['-c', `${readmeCommand('apt install')} curl --yes --no-install-recommends`], {
          cwd: release,
          env: treeOf().env,
        });
        expect(statSync(path('etc/tidegate/server.env')).mode & 0o777).toBe(0o640);
        expect(statSync(path('var/lib/tidegate')).mode & 0o777).toBe(0o700);
        const running = startServer();
        const { url, login } = await becomeFirstOperator(running);
        expect(readdirSync(path('var/lib/tidegate'))).toContain('tidegate.db');

        const made = await parsed(
          await post(`${url}/api/v1/admin/registration-tokens`, { label: 'first host' }, login.token),
          CreatedRegistrationToken,
        );
        const authorization = `Bearer ${login.token}`;
        const { files } = await parsed(
          await fetch(`${url}/api/v1/admin/agent-packages`, { headers: { authorization } }),
          AgentPackages,
        );
        const [file] = files;
        if (!file) throw new Error('the server offers no package');
        const line = installLine({ origin: url, token: made.token, file, fetcher: 'curl', caSha256: null });
        expect(await inTree(['sh', '-c', line ?? ''])).toMatch(/: OK\n[\s\S]*enrolled as agent /);
        expect(existsSync(path('etc/apt/sources.list.d/tidegate.sources'))).toBe(true);
        const agent = startUnit({ tree: treeOf().root, unit: 'tidegate-agent.service', args: ['--once'] });
        expect([await agent.ended, agent.stderr.slice(-5)]).toEqual([
          { code: 0, signal: null },
          expect.anything(),
        ]);
        expect(await inTree(['tidegatectl', '--server', url, 'health'])).toContain('version: 0.2.0\n');
        const hosts = await fetch(`${url}/api/v1/agents`, {
          headers: { authorization },
        });
        expect(await hosts.json()).toMatchObject({ items: [{ agent_version: '0.2.0' }] });
        await stop(running);
      },
      SETUP_MAX_MS,
    );

    test('the commands of the server work as root, on its settings and as its user', async () => {
      expect(await inTree(['tidegate', 'operators', 'list'])).toContain(FIRST_OPERATOR.username);
      await inTree(['tidegate', 'backup', '--keep', '1']);
      await inTree(['tidegate', 'backup', '--keep', '1']);
      const backups = readdirSync(path('var/lib/tidegate/backups')).filter((name) =>
        name.endsWith('.backup'),
      );
      expect(backups).toHaveLength(1);
      const [owner, user] = [
        statSync(path('var/lib/tidegate/backups')).uid,
        statSync(path('var/lib/tidegate')).uid,
      ];
      expect([owner, user !== 0]).toEqual([user, true]);
      // What the man page says, with another log.
      const support =
        'echo a line of the log | tidegate support --out /var/lib/tidegate/support.tar.gz --log -';
      expect(await inTree(['sh', '-c', support])).toContain('log.txt');
      const log = await runTool('tar', ['-xzOf', path('var/lib/tidegate/support.tar.gz'), 'log.txt']);
      expect(log).toBe('a line of the log\n');
      const backup = startUnit({ tree: treeOf().root, unit: 'tidegate-backup.service' });
      expect(await backup.ended).toEqual({ code: 0, signal: null });
    });

    test('the commands that the README names work on it', async () => {
      cpSync(join(REPOSITORY, 'examples'), path('examples'), { recursive: true });
      const inRoot = (command: string) => inTree(['sh', '-c', `cd / && ${command}`]);
      expect(await inRoot(readmeCommand('tidegate --help'))).toContain('write a backup');
      // It ends with 1: the mirror of vulnerabilities is empty in this tree.
      const doctor = await inRoot(`${readmeCommand('tidegate doctor')} || [ $? = 1 ]`);
      expect(doctor).toContain('ok   agent packages: whole, and signed by');
      expect(await inRoot(readmeCommand('tidegatectl --help'))).toContain('tidegatectl');
      expect(await inRoot(readmeCommand('tidegate backup'))).toContain('Backup written');
      const apply = readmeCommand('tidegate policies apply').replace('ada', FIRST_OPERATOR.username);
      expect(await inRoot(apply)).toContain('would publish: Sundays at two');
      expect(await inRoot(readmeCommand('tidegate rollouts list'))).toMatch(/^ID {2}POLICY {2}STATE/);
    });

    test('an installation over itself keeps settings and data', async () => {
      writeFileSync(
        path('etc/tidegate/server.env'),
        'SERVICE_DATA_DIR=/var/lib/tidegate\nSERVICE_PORT=0\n# mine\n',
      );
      await apt('install', '--reinstall', packageOf('tidegate'));
      expect(readFileSync(path('etc/tidegate/server.env'), 'utf8')).toContain('# mine');
      const running = startServer();
      const url = await urlOf(running);
      const login = await post(`${url}/api/v1/auth/login`, FIRST_OPERATOR);
      expect(login.status).toBe(200);
      await stop(running);
    });

    test('a removal keeps the data and says so; a purge deletes it and says what', async () => {
      const removed = await apt('remove', 'tidegate', 'tidegate-agent');
      expect(removed).toContain(
        'Kept: /var/lib/tidegate, with the database, the signing keys and the backups',
      );
      expect(removed).toContain('Kept: the enrolment in /var/lib/tidegate-agent');
      expect(existsSync(path('usr/bin/tidegate'))).toBe(false);
      expect(existsSync(path('var/lib/tidegate/tidegate.db'))).toBe(true);
      const purged = await apt('purge', 'tidegate', 'tidegate-agent');
      expect(purged).toContain('Deleting /var/lib/tidegate: the database, the signing keys and the backups');
      for (const gone of ['tidegate', 'tidegate-agent', 'tidegate-executor']) {
        expect([gone, existsSync(path(`var/lib/${gone}`))]).toEqual([gone, false]);
      }
      expect(existsSync(path('etc/tidegate/server.env'))).toBe(false);
    });

    if (isLong) {
      test('the rpm package does the same, but keeps the data for good', async () => {
        await runTool('chroot', [treeOf().root, 'userdel', 'tidegate']);
        const rpm = (...args: string[]) => runTool('rpm', ['--root', treeOf().root, '--nodeps', ...args]);
        const file = join(release, 'tidegate_0.2.0_linux-x64.rpm');
        const signed = await runTool('rpm', ['--checksig', '--nosignature', file]);
        expect(signed).toContain('digests OK');
        // dnf asks nobody here; the tree has no release of a system that provides what rpm's packages require.
        const named = readmeCommand('dnf install').split(' ').slice(2);
        expect(named.map((name) => join(release, name))).toEqual([file, fileOf('tidegate-agents', 'rpm')]);
        await rpm('--install', ...named.map((name) => join(release, name)));
        expect(statSync(path('etc/tidegate/server.env')).mode & 0o777).toBe(0o640);
        const first = startServer();
        await becomeFirstOperator(first);
        await stop(first);
        writeFileSync(
          path('etc/tidegate/server.env'),
          'SERVICE_DATA_DIR=/var/lib/tidegate\nSERVICE_PORT=0\n# mine\n',
        );
        expect(await rpm('--upgrade', '--replacepkgs', file)).not.toContain('Kept');
        expect(readFileSync(path('etc/tidegate/server.env'), 'utf8')).toContain('# mine');
        const second = startServer();
        expect((await post(`${await urlOf(second)}/api/v1/auth/login`, FIRST_OPERATOR)).status).toBe(200);
        await stop(second);
        expect(await rpm('--erase', 'tidegate')).toContain('Kept: /var/lib/tidegate');
        expect(existsSync(path('usr/bin/tidegate'))).toBe(false);
        expect(existsSync(path('var/lib/tidegate/tidegate.db'))).toBe(true);
      });

      test('the tar.gz does the same by the commands of the installation guide', async () => {
        for (const name of ['etc/tidegate', 'var/lib/tidegate']) rmSync(path(name), { recursive: true });
        await runTool('chroot', [treeOf().root, 'userdel', 'tidegate']);
        await apt('purge', 'tidegate-agents');
        await apt('install', 'binutils'); // for ar
        // A tree has no systemd.
        const standIns = {
          systemctl: 'echo "$@" >>/var/log/systemctl',
          'systemd-sysusers': 'useradd --system --user-group --home-dir /var/lib/tidegate tidegate',
        };
        for (const [name, does] of Object.entries(standIns))
          writeFileSync(path(`usr/bin/${name}`), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
        for (const file of [fileOf('tidegate', 'tar.gz'), fileOf('tidegate-agents', 'deb')])
          cpSync(file, path(basename(file)));
        const guide = readFileSync(join(REPOSITORY, 'docs/install.md'), 'utf8');
        const [, part = ''] = guide.split('### The server from the tar.gz\n');
        const [install = '', upgrade = '', remove = ''] = [...part.matchAll(/```\n([\s\S]*?)```/g)].map(
          ([, block]) => `set -e\n${block}`,
        );
        const inRoot = (block: string) => inTree(['bash', '-o', 'pipefail', '-c', `cd / && ${block}`]);
        await inRoot(install);
        expect(statSync(path('etc/tidegate/server.env')).mode & 0o777).toBe(0o640);
        expect(existsSync(path('usr/share/tidegate/agents/SHA256SUMS.sig'))).toBe(true);
        const first = startServer();
        await becomeFirstOperator(first);
        await stop(first);
        const settings = 'SERVICE_DATA_DIR=/var/lib/tidegate\nSERVICE_PORT=0\n# mine\n';
        writeFileSync(path('etc/tidegate/server.env'), settings);
        await inRoot(upgrade);
        expect(readFileSync(path('etc/tidegate/server.env'), 'utf8')).toBe(settings);
        const second = startServer();
        expect((await post(`${await urlOf(second)}/api/v1/auth/login`, FIRST_OPERATOR)).status).toBe(200);
        await stop(second);
        await inRoot(remove);
        const left = await runTool('find', ['usr', '-name', '*tidegate*'], { cwd: treeOf().root });
        expect(left).toBe('');
        expect(existsSync(path('var/lib/tidegate/tidegate.db'))).toBe(true);
        expect(readFileSync(path('var/log/systemctl'), 'utf8').trimEnd().split('\n')).toEqual([
          'daemon-reload',
          'enable --now tidegate tidegate-backup.timer',
          'daemon-reload',
          'restart tidegate',
          'disable --now tidegate tidegate-backup.timer',
        ]);
      });
    }

    async function sbomOf(name: string) {
      const text = readFileSync(fileOf(name, 'cdx.json'), 'utf8');
      return Value.Parse(Sbom, JSON.parse(text)).components;
    }

    function startServer(): Child {
      const env = { SERVICE_PORT: '0', SERVICE_ADVISORY_SOURCE: 'off' };
      const child = startUnit({ tree: treeOf().root, unit: 'tidegate.service', env });
      onTestFinished(() => child.signal('SIGKILL'));
      return child;
    }

    /** Runs a command in the tree as root, as an administrator of the host would. */
    function inTree(command: readonly string[], env: Record<string, string> = {}): Promise<string> {
      return runInTree(treeOf().root, command, env);
    }
  },
);

const Sbom = Type.Object({
  components: Type.Array(
    Type.Object({
      type: Type.String(),
      name: Type.String(),
      hashes: Type.Optional(Type.Array(Type.Object({ content: Type.String() }))),
    }),
  ),
});

async function urlOf(child: Child): Promise<string> {
  return /url=(\S+)/.exec(await child.line(/listening/))?.[1] ?? '';
}

async function stop(child: Child): Promise<void> {
  child.signal('SIGTERM');
  expect(await child.ended).toEqual({ code: 0, signal: null });
}
