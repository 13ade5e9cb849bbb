import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { npmHostMissing } from '@tidegate/testkit/npm-host';
import { createPypiHost, giveAway, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import type { EcosystemDriver, HostPaths } from '../apps/agent/src/ecosystems/ecosystem.ts';
import { hostPaths } from '../apps/agent/src/ecosystems/host-places.ts';
import { npmDriver } from '../apps/agent/src/ecosystems/npm/npm.ts';
import { pypiDriver } from '../apps/agent/src/ecosystems/pypi/pypi.ts';
import type { Installer } from '../apps/agent/src/executor/installer.ts';
import { npmInstaller } from '../apps/agent/src/executor/npm.ts';
import { pypiInstaller } from '../apps/agent/src/executor/pypi.ts';
import { approvalOfSet } from '../apps/agent/src/testing/approval-of.ts';
import { install } from '../apps/agent/src/testing/install.ts';
import { configuredIndex, findWhyUnreachable } from './harness/public-index.ts';

/** Everything is downloaded twice. */
const STORY_MS = 15 * 60_000;
const OWNER = { uid: 20_001, gid: 20_001 };
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
const pypi = pypiHostMissing() ?? (await findWhyUnreachable());
if (pypi !== null) console.log(`skipped: 17 packages of the real index: ${pypi}`);
const npm = npmHostMissing() ?? (await findWhyNoRegistry());
if (npm !== null) console.log(`skipped: packages of the real registry of npm: ${npm}`);

const PYTHON_PACKAGES = [
  ...[
    'idna==2.10',
    'certifi==2022.12.7',
    'urllib3==1.26.5',
    'requests==2.25.1',
    'click==8.0.0',
    'six==1.15.0',
  ],
  ...['itsdangerous==2.0.0', 'jinja2==3.0.0', 'werkzeug==2.0.0', 'flask==2.0.0', 'pytz==2021.1'],
  ...['python-dateutil==2.8.0', 'packaging==21.0', 'attrs==21.2.0', 'pyparsing==2.4.7', 'colorama==0.4.3'],
  ...['typing-extensions==4.0.0'],
];
const NODE_PACKAGES = {
  ...{ semver: '7.3.0', commander: '8.0.0', chalk: '4.1.0', debug: '4.1.0', ms: '2.1.0', uuid: '8.0.0' },
  ...{ minimist: '1.2.0', glob: '10.3.0', rimraf: '5.0.0', yargs: '17.0.0' },
};

/** Plans everything that is offered at a place as one set, and installs it in one job. */
async function updateAll(
  { driver, installer }: { driver: EcosystemDriver; installer: Installer },
  {
    ecosystem,
    paths,
    place,
    folder,
  }: { ecosystem: Ecosystem; paths: HostPaths; place: string; folder: string },
): Promise<string[]> {
  const scan = await driver.scan(paths);
  expect(scan).toMatchObject({ complete: true });
  const updates = scan.updates
    .filter(({ arch, offers }) => arch === place && (offers ?? ['newest']).includes('newest'))
    .map(({ name, available_version: toVersion }) => ({ name, arch: place, toVersion }));
  const startMs = performance.now();
  const outcome = await driver.plan(paths, { updates });
  if (!outcome.ok) throw new Error(outcome.reason);
  const plannedMs = performance.now();
  const { actions } = outcome.plan;
  const stage = await mkdtemp(join(folder, 'stage-'));
  expect(await driver.fetch(paths, { actions, directory: stage })).toEqual({ ok: true });
  const fetchedMs = performance.now();
  const approval = approvalOfSet({ ecosystem, updates, actions });
  const installed = await install(installer, { paths, stage, approval });
  if (!installed.ok) throw new Error(installed.detail);
  const seconds = [plannedMs - startMs, fetchedMs - plannedMs, performance.now() - fetchedMs];
  const [plan = '', fetch = '', run = ''] = seconds.map((ms) => (ms / 1_000).toFixed(1));
  console.log(
    `${ecosystem}: ${updates.length} updates, ${actions.length} actions: planned in ${plan} s, fetched in ${fetch} s, installed in ${run} s`,
  );
  return updates.map(({ name, toVersion }) => `${name}@${toVersion}`);
}

test.skipIf(pypi !== null)(
  '17 outdated Python packages end like pip install --upgrade on a twin',
  async () => {
    const dir = tmpDir('tidegate-real-pypi-');
    onTestFinished(() => dir.remove());
    await chmod(dir.path, 0o755);
    const index = await configuredIndex();
    const pip = (path: string, ...args: string[]) =>
      runTool('/usr/bin/python3', ['-m', 'pip', '--python', join(path, 'bin/python'), ...args, '-q'], {
        env: { PIP_CONFIG_FILE: '/dev/null', PIP_INDEX_URL: index, HOME: dir.path },
      });
    const host = await createPypiHost(join(dir.path, 'env'));
    const twin = await createPypiHost(join(dir.path, 'twin'));
    for (const { path } of [host, twin])
      await pip(path, 'install', '--only-binary=:all:', ...PYTHON_PACKAGES);
    const paths = hostPaths({ pypi_environments: [host.path], pypi_index: index });
    const means = { driver: pypiDriver, installer: pypiInstaller };
    const updated = await updateAll(means, {
      ...{ ecosystem: 'pypi', paths, place: host.path, folder: dir.path },
    });
    expect(updated.length).toBeGreaterThanOrEqual(PYTHON_PACKAGES.length);
    const names = Object.keys(await twin.installed());
    await pip(twin.path, 'install', '--upgrade', '--only-binary=:all:', ...names);
    // With -q, pip list prints nothing at all.
    expect(await host.installed()).toEqual(await twin.installed());
    await pip(host.path, 'check');
  },
);

test.skipIf(npm !== null)(
  'a project and global packages end like npm install on twins',
  { timeout: STORY_MS },
  async () => {
    const dir = tmpDir('tidegate-real-npm-');
    onTestFinished(() => dir.remove());
    await chmod(dir.path, 0o755);
    const home = join(dir.path, 'home');
    const run = (args: readonly string[], cwd = home) =>
      callNpm(
        [...args, `--cache=${join(home, 'cache')}`, '--ignore-scripts', '--no-audit', '--no-fund'],
        cwd,
      );
    const [project, twin, prefix, twinPrefix] = ['project', 'twin', 'prefix', 'twin-prefix'].map((name) =>
      join(dir.path, name),
    );
    if (!project || !twin || !prefix || !twinPrefix) throw new Error('no folders');
    const specs = Object.entries(NODE_PACKAGES).map(([name, version]) => `${name}@${version}`);
    for (const folder of [home, project, twin, prefix, twinPrefix]) await mkdir(folder);
    for (const folder of [project, twin]) {
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ name: 'p', dependencies: NODE_PACKAGES }),
      );
      await run(['install'], folder);
      // Ranges that the registry's newest versions are in: an exact version is a pin.
      const dependencies = Object.fromEntries(
        Object.entries(NODE_PACKAGES).map(([name, version]) => [name, `>=${version}`]),
      );
      await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'p', dependencies }));
      const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
      lock.packages[''].dependencies = dependencies;
      await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
    }
    for (const folder of [prefix, twinPrefix]) {
      for (const spec of specs) await run(['install', '--global', `--prefix=${folder}`, spec]);
    }
    const registry = (await run(['config', 'get', 'registry'])).trim();
    const paths = hostPaths({ npm_prefix: prefix, npm_projects: [project], npm_registry: registry });
    const means = { driver: npmDriver, installer: npmInstaller };
    const update = async (place: string) => {
      // root changes nothing of its own below a folder that others can write.
      if (process.getuid?.() === 0) await giveAway(place, OWNER);
      return updateAll(means, { ecosystem: 'npm', paths, place, folder: dir.path });
    };
    // npm is told the versions: by itself it passes over those whose engines do not name its node.
    await run(['install', ...(await update(project))], twin);
    expect(await listed(run, project)).toEqual(await listed(run, twin));
    for (const spec of await update(prefix))
      await run(['install', '--global', `--prefix=${twinPrefix}`, spec]);
    const globals = (folder: string) => run(['ls', '--global', '--all', '--json', `--prefix=${folder}`]);
    expect(versionsOf(await globals(prefix))).toEqual(versionsOf(await globals(twinPrefix)));
    expect((await readdir(join(prefix, 'lib/node_modules'))).sort()).toEqual(
      (await readdir(join(twinPrefix, 'lib/node_modules'))).sort(),
    );
  },
);

async function listed(run: (args: readonly string[], cwd: string) => Promise<string>, folder: string) {
  return versionsOf(await run(['ls', '--all', '--json'], folder));
}

/** Every package of `npm ls --json`, by its path of names. */
function versionsOf(text: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const walk = (node: { version?: unknown; dependencies?: Record<string, never> }, path: string): void => {
    if (path !== '') found[path] = node.version;
    for (const [name, child] of Object.entries(node.dependencies ?? {})) walk(child, `${path}/${name}`);
  };
  walk(JSON.parse(text), '');
  return found;
}

/** With this machine's own configuration: only it says how the registry is reached. */
async function callNpm(args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', args, { cwd, maxBuffer: OUTPUT_MAX_BYTES });
  return stdout;
}

async function findWhyNoRegistry(): Promise<string | null> {
  return callNpm(['view', 'semver', 'version', '--fetch-retries=0', '--fetch-timeout=10000'], '/').then(
    () => null,
    () => 'the registry of npm is not reachable',
  );
}
