import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { npmHostMissing } from '@tidegate/testkit/npm-host';
import { createPypiHost, giveAway, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { createAgentOn, must } from './harness/host.ts';
import { expectAnswer, liftLimits } from './harness/operator.ts';
import { configuredIndex, findWhyUnreachable } from './harness/public-index.ts';
import { createWorld, storyMissing } from './harness/world.ts';

/** Everything is downloaded twice. */
const STORY_MS = 15 * 60_000;
const OWNER = { uid: 20_001, gid: 20_001 };
const AGES_MS = 120_000;
const INSTALL_MS = 240_000;
const Aged = Type.Object({ age: Type.Unknown() });
/** How this machine's own programs know the registries' certificates; the others know them by themselves. */
const { NODE_EXTRA_CA_CERTS } = process.env;
const CERTIFICATES = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS };
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

const pypi = storyMissing() ?? pypiHostMissing() ?? (await findWhyUnreachable());
if (pypi !== null) console.log(`skipped: 17 packages of the real index: ${pypi}`);
const npm = storyMissing() ?? npmHostMissing() ?? (await findWhyNoRegistry());
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

function onEngine() {
  const [engine] = ENGINES;
  if (engine === undefined) throw new Error('there is no engine');
  return engine;
}

/** A host with one kind of places, enrolled at a server of its own that has the real registry's word on ages and hashes. */
async function enrolledAgent(
  dir: string,
  { places, env }: { places: string[]; env: Record<string, string> },
) {
  const world = await createWorld(onEngine(), { ...CERTIFICATES, ...env });
  await liftLimits(world.operator); // the host sends in seconds what it would in minutes
  const folder = join(dir, 'host');
  await mkdir(folder);
  const agent = await createAgentOn(folder, {
    ...{ serverUrl: world.proxy.url, machineId: 'machine-of-registries', places, env: CERTIFICATES },
  });
  must(await agent.enrol(await world.operator.registrationToken()));
  return { ...world, agent };
}

/**
 * Approves everything that is offered in one request, and installs it: one transaction for each place, and a second one
 * for what can only be resolved after the first. Returns what was approved, by place.
 */
async function updateAll({ operator, agent }: Awaited<ReturnType<typeof enrolledAgent>>) {
  const startMs = performance.now();
  // Some have no plan of their own: only together with another can they be updated.
  let planned = -1;
  for (;;) {
    must(await agent.runOnce());
    const count = (await operator.updates({ state: 'pending' })).filter((one) => one.has_plan).length;
    if (count > 0 && count === planned) break;
    planned = count;
  }
  const plannedMs = performance.now();
  const updates = await operator.updates({ state: 'pending' });
  const ids = updates.map(({ id }) => id);
  // The registry is asked for the age and the hashes of every version; a request waits 10 s for that at most.
  for (const { id } of updates.filter((one) => one.has_plan)) {
    const previewed = async () =>
      expectAnswer(await operator.call('POST', `/api/v1/updates/${id}/preview`, {}), 200, Aged).age;
    await expect.poll(previewed, { timeout: AGES_MS, interval: 500 }).not.toBeNull();
  }
  const judgedMs = performance.now();
  const { status, body } = await operator.call('POST', '/api/v1/updates/approve', { update_ids: ids });
  expect([status, body]).toMatchObject([200, { blocked: [], skipped: [] }]);
  const places = new Set(updates.map(({ arch }) => arch));
  const installs = () => operator.commands({ action: 'install_update' });
  const installed = () => operator.updates({ state: 'installed' });
  // The server looks once a minute for plans that have come.
  const next = async () => {
    must(await agent.runOnce());
    return (await installed()).length;
  };
  await expect.poll(next, { timeout: INSTALL_MS, interval: 2_000 }).toBe(ids.length);
  const ended = await installs();
  expect(ended.map((one) => [one.status, one.reason])).toEqual(ended.map(() => ['success', null]));
  const alone = new Set(updates.filter((one) => !one.has_plan).map(({ arch }) => arch));
  expect(ended).toHaveLength(places.size + alone.size);
  expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);
  const seconds = [plannedMs - startMs, judgedMs - plannedMs, performance.now() - judgedMs].map((ms) =>
    (ms / 1_000).toFixed(1),
  );
  console.log(
    `${ids.length} updates of ${places.size} places in ${ended.length} transactions: plans after ${seconds[0]} s, judged ${seconds[1]} s later, fetched and installed in ${seconds[2]} s`,
  );
  return Map.groupBy(updates, ({ arch }) => arch);
}

test.skipIf(pypi !== null)(
  '17 outdated Python packages end like pip install --upgrade on a twin',
  { timeout: STORY_MS },
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
    const names = Object.keys(await twin.installed());
    const fleet = await enrolledAgent(dir.path, {
      places: ['--ecosystems', 'pypi', '--pypi-environment', host.path, '--pypi-index', index],
      env: { SERVICE_PYPI_URL: index.replace(/\/simple$/, '') },
    });
    const updated = await updateAll(fleet);
    expect([...updated.values()].flat().length).toBeGreaterThanOrEqual(PYTHON_PACKAGES.length);
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
    // root changes nothing of its own below a folder that others can write.
    for (const place of [project, prefix]) if (process.getuid?.() === 0) await giveAway(place, OWNER);
    const registry = (await run(['config', 'get', 'registry'])).trim();
    const fleet = await enrolledAgent(dir.path, {
      places: [
        ...['--ecosystems', 'npm', '--npm-registry', registry],
        ...['--npm-prefix', prefix, '--npm-project', project],
      ],
      env: { SERVICE_NPM_REGISTRY_URL: registry.replace(/\/$/, '') },
    });
    const updated = await updateAll(fleet);
    const specsOf = (place: string) =>
      (updated.get(place) ?? []).map(({ name, available_version: version }) => `${name}@${version}`);
    // npm is told the versions: by itself it passes over those whose engines do not name its node.
    await run(['install', ...specsOf(project)], twin);
    expect(await listed(run, project)).toEqual(await listed(run, twin));
    for (const spec of specsOf(prefix)) await run(['install', '--global', `--prefix=${twinPrefix}`, spec]);
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
