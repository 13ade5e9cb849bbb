import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { chmod, chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { keepOriginal } from '@tidegate/testkit/keep-original';
import {
  createPypiHost,
  type PypiHost,
  type PypiHostOptions,
  pypiHostMissing,
} from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import { PYPI_DEMO, type PypiPackage } from '@tidegate/testkit/pypi-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { fetchActions } from '../ecosystems/pypi/fetch.ts';
import { findPlaces } from '../ecosystems/pypi/places.ts';
import { planUpdates } from '../ecosystems/pypi/plan.ts';
import { openPlanner } from '../ecosystems/pypi/pypi.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, installHearing, simulate } from '../testing/install.ts';
import { type StagingDriver, stageOnce } from '../testing/stage-once.ts';
import { pypiInstaller } from './pypi.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: the installer of PyPI on a real environment: ${missing}`);
const asRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
const NOWHERE = { environments: [], userFolders: [], faults: [], unseen: [] };
const BLOCKED: PypiPackage = {
  name: 'demo-app',
  version: '3.0',
  requires: ['demo-lib>=1.1'],
  extraFiles: [{ path: 'in_the_way/inside.py', content: '' }],
};

describe.skipIf(missing !== null)('the installer of PyPI on a real environment', () => {
  const dir = tmpDir('tidegate-pypi-installer-');
  let index: PypiIndex;
  let usual: PypiHost;
  let restore: () => Promise<void>;
  beforeAll(async () => {
    await chmod(dir.path, 0o755);
    index = await startPypiIndex([...PYPI_DEMO.old, ...PYPI_DEMO.offered, BLOCKED]);
    usual = await createPypiHost(join(dir.path, 'env'), { installed: PYPI_DEMO.old });
    restore = await keepOriginal(usual.path);
  });
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  let made = 0;
  async function newHost(options?: PypiHostOptions): Promise<PypiHost> {
    if (options)
      return createPypiHost(join(dir.path, `env-${++made}`), { installed: PYPI_DEMO.old, ...options });
    await restore();
    return usual;
  }

  // As root, which may run the interpreter of everybody's environment: it is the machine's own.
  const plannerOf = async (paths: HostPaths) => openPlanner(paths, await findPlaces(paths, NOWHERE));
  const driver: StagingDriver = {
    plan: async (paths, request) => planUpdates(await plannerOf(paths), request, new Date()),
    fetch: async (paths, job) => fetchActions(await plannerOf(paths), job),
  };
  const staged = stageOnce(dir.path, driver);

  /** Plans, approves and stages an update as the agent and the executor would. */
  async function prepare(host: PypiHost, toVersion = '2.0', change = (actions: PlanAction[]) => actions) {
    const paths = hostPaths({ pypi_environments: [host.path], pypi_index: index.url });
    const { stage, actions: planned } = await staged(paths, { name: 'demo-app', toVersion, arch: host.path });
    await chmod(stage, 0o700);
    const actions = change(planned);
    return {
      paths,
      stage,
      actions,
      approval: approvalOf({ ecosystem: 'pypi', name: 'demo-app', toVersion, actions }),
    };
  }

  const OLD = { 'demo-app': '1.0', 'demo-lib': '1.0' };
  const NEW = { 'demo-app': '2.0', 'demo-lib': '1.1' };

  test('the simulation gives the approved plan and changes nothing', async () => {
    const host = await newHost();
    const job = await prepare(host);
    const bare = job.actions.map(({ artifact, origin, back, ...action }) => action);
    expect(await simulate(pypiInstaller, job)).toEqual({ ok: true, actions: bare });
    expect(await host.installed()).toEqual(OLD);
  });

  test('installs from the stage alone, without an index and without a pip in the environment', async () => {
    const host = await newHost();
    const job = await prepare(host);
    index.mode = 'down';
    const outcome = await installHearing(pypiInstaller, job);
    index.mode = 'up';
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.output).toContain('All requirements are met.');
    expect(await host.installed()).toEqual(NEW);
    expect(outcome.ok && outcome.installed).toEqual([
      { name: 'demo-app', version: '2.0', arch: host.path },
      { name: 'demo-lib', version: '1.1', arch: host.path },
    ]);
    const said = await runTool(host.python, ['-c', 'import demo_app, demo_lib; print(demo_app.VERSION)']);
    expect(said).toBe('2.0\n');
    const installer = await readFile(join(host.sitePackages, 'demo_app-2.0.dist-info/INSTALLER'), 'utf8');
    expect(installer).toBe('pip\n');
    expect(existsSync(join(host.sitePackages, 'demo_app-2.0.dist-info/direct_url.json'))).toBe(false);
  });

  test.runIf(asRoot)('acts as the owner of the environment, and can then do no more than he', async () => {
    const host = await newHost({ owner: NOBODY });
    const proof = join(dir.path, 'proof');
    mkdirSync(proof);
    await chmod(proof, 0o777);
    const script = `import os; open(${JSON.stringify(proof)} + f"/{os.getuid()}-{os.getgid()}-{os.getgroups()}", "w").close()\n`;
    writeFileSync(join(host.sitePackages, 'who.pth'), script);
    await chown(join(host.sitePackages, 'who.pth'), NOBODY.uid, NOBODY.gid);
    expect(await install(pypiInstaller, await prepare(host))).toMatchObject({ ok: true });
    expect(await host.installed()).toEqual(NEW);
    expect(statSync(join(host.sitePackages, 'demo_app.py')).uid).toBe(NOBODY.uid);
    expect(readdirSync(proof)).toEqual([`${NOBODY.uid}-${NOBODY.gid}-[]`]);
  });

  test.runIf(asRoot)('refuses a place of root that somebody else could change', async () => {
    const host = await newHost();
    const job = await prepare(host);
    const inside = join(host.sitePackages, 'demo_lib.py');
    await chown(inside, NOBODY.uid, NOBODY.gid);
    expect(await simulate(pypiInstaller, job)).toEqual({
      ok: false,
      detail: `${host.path} is root's, but ${inside} belongs to user ${NOBODY.uid}`,
    });
    await chown(inside, 0, 0);
    await chmod(join(host.path, 'bin'), 0o777);
    const open = `${host.path} is root's, but ${join(host.path, 'bin')} can be written by others`;
    const detail = `the transaction cannot be simulated: ${open}`;
    expect(await install(pypiInstaller, job)).toMatchObject({ ok: false, reason: 'plan_drift', detail });
    await chmod(join(host.path, 'bin'), 0o755);
    expect(await simulate(pypiInstaller, job)).toMatchObject({ ok: true });
    await chmod(dir.path, 0o777);
    const above = await simulate(pypiInstaller, job);
    await chmod(dir.path, 0o755);
    expect(above).toEqual({
      ok: false,
      detail: `${host.path} is not changed: ${dir.path} can be written by others`,
    });
    expect(await host.installed()).toEqual(OLD);
  });

  test('an environment that is externally managed is refused (PEP 668)', async () => {
    const host = await newHost();
    const job = await prepare(host);
    writeFileSync(join(host.sitePackages, '../EXTERNALLY-MANAGED'), '[externally-managed]\n');
    const refused = `${host.path} is externally managed (PEP 668)`;
    expect(await simulate(pypiInstaller, job)).toEqual({ ok: false, detail: refused });
    expect(await host.installed()).toEqual(OLD);
  });

  test.each<[string, (actions: PlanAction[]) => PlanAction[]]>([
    ['fewer actions', (actions) => actions.slice(0, 1)],
    ['another version before', ([app, lib]) => [{ ...at(app), from_version: '0.9' }, at(lib)]],
    ['an installation where it is an upgrade', ([app, lib]) => [{ ...at(app), action: 'install' }, at(lib)]],
    [
      'a package more, whose file is there',
      ([app, lib]) => [at(app), at(lib), { ...at(lib), name: 'demo-lib2', artifact: renamed(at(lib)) }],
    ],
    [
      'a removal',
      ([app, lib]) => [at(app), at(lib), { action: 'remove', name: 'other', arch: at(app).arch ?? '' }],
    ],
    ['another place', ([app, lib]) => [at(app), { ...at(lib), arch: '/srv/elsewhere' }]],
  ])('a plan of %s is refused, and nothing starts', async (_title, change) => {
    const host = await newHost();
    const job = await prepare(host, '2.0', change);
    for (const { artifact } of job.actions) {
      const file = join(job.stage, artifact?.filename ?? 'none');
      if (artifact?.filename.startsWith('demo_lib2'))
        writeFileSync(file, await readFile(join(job.stage, LIB)));
    }
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: false });
    expect(await host.installed()).toEqual(OLD);
  });

  test('what another approval has brought is done, and only the rest is run', async () => {
    const host = await newHost();
    const job = await prepare(host);
    await host.install({ name: 'demo-lib', version: '1.1' });
    const library = join(host.sitePackages, 'demo_lib-1.1.dist-info/RECORD');
    const before = statSync(library, { bigint: true });
    const outcome = await installHearing(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.output).toContain('Done before this run: demo-lib 1.1');
    expect(await host.installed()).toEqual(NEW);
    expect(statSync(library, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
    const again = await install(pypiInstaller, job);
    expect(again).toMatchObject({ ok: true });
    expect(again.output).toContain('Nothing was left to do');
  });

  test('an environment that changed otherwise since the approval is drift', async () => {
    const host = await newHost();
    const job = await prepare(host);
    await host.install({ name: 'demo-lib', version: '1.2' });
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(!outcome.ok && outcome.detail).toContain('would not upgrade demo-lib');
    expect(await host.installed()).toEqual({ 'demo-app': '1.0', 'demo-lib': '1.2' });
  });

  test('a staged file that changed after it was hashed is caught by pip itself, with nothing changed', async () => {
    const host = await newHost();
    const job = await prepare(host);
    const bytes = await readFile(join(job.stage, LIB));
    const place = bytes.indexOf('VERSION = ');
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    writeFileSync(join(job.stage, LIB), bytes);
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    expect(outcome.output).toContain('DO NOT MATCH THE HASHES');
    expect(await host.installed()).toEqual(OLD);
  });

  test('a package that cannot be installed keeps its old version, and the result names it', async () => {
    const host = await newHost();
    const job = await prepare(host, '3.0');
    writeFileSync(join(host.sitePackages, 'in_the_way'), 'a file where a folder is to be');
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed', exitCode: 1 });
    expect(!outcome.ok && outcome.detail).toContain('now demo-app is 1.0, demo-lib is 1.1');
    expect(await host.installed()).toEqual({ 'demo-app': '1.0', 'demo-lib': '1.1' });
    const said = await runTool(host.python, ['-c', 'import demo_app; print(demo_app.VERSION)']);
    expect(said).toBe('1.0\n');
  });
});

const LIB = 'demo_lib-1.1-py3-none-any.whl';

function at(action: PlanAction | undefined): PlanAction {
  if (action === undefined) throw new Error('no action');
  return action;
}

function renamed({ artifact }: PlanAction) {
  if (artifact === undefined) throw new Error('no artifact');
  return { ...artifact, filename: artifact.filename.replace('demo_lib', 'demo_lib2') };
}
