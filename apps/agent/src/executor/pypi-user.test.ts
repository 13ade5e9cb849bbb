import { existsSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf } from '@tidegate/protocol/rollbacks';
import { doOnce } from '@tidegate/testkit/do-once';
import { keepOriginal } from '@tidegate/testkit/keep-original';
import { firstOf } from '@tidegate/testkit/lanes';
import { createPypiHost, giveAway, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import { PYPI_DEMO, type PypiPackage } from '@tidegate/testkit/pypi-packages';
import { createPypiPython, type PypiPython, type PypiUser } from '@tidegate/testkit/pypi-python';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostPaths } from '../ecosystems/host-places.ts';
import { fetchActions } from '../ecosystems/pypi/fetch.ts';
import { findPlaces } from '../ecosystems/pypi/places.ts';
import { planUpdates } from '../ecosystems/pypi/plan.ts';
import { openPlanner } from '../ecosystems/pypi/pypi.ts';
import { scanPypi } from '../ecosystems/pypi/scan.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, simulate } from '../testing/install.ts';
import { type StagingDriver, stageAnew, stageOnce } from '../testing/stage-once.ts';
import { pypiInstaller, pypiInstallerOf } from './pypi.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: packages of users on a real interpreter: ${missing}`);
const asRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
const OWNER = asRoot ? { owner: NOBODY } : {};
const NOWHERE = { environments: [], userFolders: [], faults: [], unseen: [] };

/** What the system of the throw-away interpreter has: one that suits every version, and one that is too old. */
const SYSTEM: PypiPackage[] = [
  { name: 'suits', version: '1.0' },
  { name: 'too-old', version: '1.0' },
  { name: 'strict', version: '1.0', requires: ['too-old<2'] },
];
const INSTALLED: PypiPackage[] = [...PYPI_DEMO.old, { name: 'leaner', version: '1.0' }];
const SCRIPT = '[console_scripts]\ndemo = demo_app:main\n';
const OFFERED: PypiPackage[] = [
  PYPI_DEMO.offered[0],
  {
    ...PYPI_DEMO.offered[1],
    requires: ['demo-lib>=1.1', 'suits', 'newer>=1'],
    extraFiles: [{ path: 'demo_app-2.0.dist-info/entry_points.txt', content: SCRIPT }],
  },
  { name: 'suits', version: '2.0' },
  { name: 'newer', version: '1.0' },
  { name: 'leaner', version: '1.0' },
  { name: 'leaner', version: '2.0', requires: ['too-old>=1.5,<2'] },
  { name: 'leaner', version: '3.0', requires: ['too-old>=2'] },
  { name: 'too-old', version: '1.5' },
  { name: 'too-old', version: '2.0' },
];
const SYSTEM_NOW = { strict: '1.0', suits: '1.0', 'too-old': '1.0' };
const OLD = { 'demo-app': '1.0', 'demo-lib': '1.0', leaner: '1.0' };
const NEW = { 'demo-app': '2.0', 'demo-lib': '1.1', leaner: '1.0', newer: '1.0' };

describe.skipIf(missing !== null)('packages beside those of the system', () => {
  const dir = tmpDir('tidegate-pypi-user-');
  let index: PypiIndex;
  let usual: PypiUser;
  let restore: () => Promise<void>;
  let python: PypiPython;
  beforeAll(async () => {
    await chmod(dir.path, 0o755);
    index = await startPypiIndex(OFFERED);
    python = await createPypiPython(join(dir.path, 'usr'));
    await python.installSystem(...SYSTEM);
    usual = await python.createUser(join(dir.path, 'home'), { installed: INSTALLED, ...OWNER });
    restore = await keepOriginal(usual.home);
  });
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  let made = 0;
  async function newUser(options?: { installed?: PypiPackage[]; owner?: typeof NOBODY }): Promise<PypiUser> {
    if (options)
      return python.createUser(join(dir.path, `home-${++made}`), { installed: INSTALLED, ...options });
    await restore();
    return usual;
  }
  const environment = join(dir.path, 'env');
  const newEnvironment = doOnce(
    () => [environment],
    () =>
      createPypiHost(environment, {
        ...{ installed: INSTALLED, withSystemPackages: true, interpreter: python.python },
      }),
  );

  /** As on a host whose interpreters are below `systemPrefix`. */
  async function openHost(found: { userFolders?: string[]; environments?: string[] }, systemPrefix?: string) {
    const paths = hostPaths({ pypi_index: index.url });
    const places = await findPlaces(paths, { ...NOWHERE, ...found }, systemPrefix);
    return { paths, places, planner: await openPlanner(paths, places) };
  }
  type Host = Awaited<ReturnType<typeof openHost>>;

  async function planOf({ planner }: Host, arch: string, [name, toVersion]: readonly [string, string]) {
    const outcome = await planUpdates(planner, { updates: [{ name, toVersion, arch }] }, new Date());
    return outcome.ok ? outcome.plan.actions : outcome.reason;
  }
  const brief = (planned: PlanAction[] | string) =>
    typeof planned === 'string'
      ? planned
      : planned.map(({ action, name, from_version, to_version }) =>
          [action, name, from_version ?? 'nothing', to_version].join(' '),
        );

  const stagings = new Map<string, ReturnType<typeof stageOnce>>();

  /** One location is planned once, unless the planning itself is what a test looks at. */
  async function prepare({ planner, paths }: Host, arch: string, { anew = false } = {}) {
    const driver: StagingDriver = {
      plan: (_, request) => planUpdates(planner, request, new Date()),
      fetch: (_, job) => fetchActions(planner, job),
    };
    const staged = stagings.get(arch) ?? stageOnce(dir.path, driver);
    stagings.set(arch, staged);
    const update = { name: 'demo-app', toVersion: '2.0' };
    const { stage, actions } = await (anew ? stageAnew(dir.path, driver) : staged)(paths, {
      ...update,
      arch,
    });
    return { paths, stage, actions, approval: approvalOf({ ecosystem: 'pypi', ...update, actions }) };
  }

  const places = [
    ['what a user installed', 'user'],
    ['an environment that sees the system', 'environment'],
  ] as const;
  async function openOne(kind: 'user' | 'environment') {
    const place = kind === 'user' ? await newUser() : await newEnvironment();
    const { sitePackages, installed } = place;
    const arch = 'path' in place ? place.path : sitePackages;
    const found = kind === 'user' ? { userFolders: [arch] } : { environments: [arch] };
    return { host: await openHost(found, python.prefix), arch, sitePackages, installed };
  }

  test.each(places)(
    'of %s a plan takes what the system has as present, and leaves it',
    async (_what, kind) => {
      const { host, arch } = await openOne(kind);
      const scan = await scanPypi(host.paths, host.places);
      expect(scan).toMatchObject({ complete: true });
      expect(scan.packages.map(({ name, held }) => [name, held])).toEqual(
        Object.keys(OLD).map((name) => [name, false]),
      );
      const planned = await planOf(host, arch, ['demo-app', '2.0']);
      expect(brief(planned)).toEqual([
        ...['upgrade demo-app 1.0 2.0', 'upgrade demo-lib 1.0 1.1', 'install newer nothing 1.0'],
      ]);
      expect(typeof planned !== 'string' && planned.every((action) => action.arch === arch)).toBe(true);
    },
  );

  test.each(firstOf(1, places))(
    'of %s what the system has too old comes into the place, unless it would break what the system has',
    async (_what, kind) => {
      const { host, arch } = await openOne(kind);
      expect(brief(await planOf(host, arch, ['leaner', '2.0']))).toEqual([
        ...['upgrade leaner 1.0 2.0', 'install too-old nothing 1.5'],
      ]);
      expect(brief(await planOf(host, arch, ['leaner', '3.0']))).toMatch(
        /^it would break the place: strict 1\.0 has requirement too-old<2/,
      );
      expect(brief(await planOf(host, arch, ['suits', '2.0']))).toBe(`suits is not installed in ${arch}`);
    },
  );

  test.each(places)(
    '%s is updated from the stage alone, the old version goes, and the system stays as it was',
    async (_what, kind) => {
      const { host, arch, sitePackages, installed } = await openOne(kind);
      const job = await prepare(host, arch);
      const installer = pypiInstallerOf(python.prefix);
      const bare = job.actions.map(({ artifact, origin, back, ...action }) => action);
      expect(await simulate(installer, job)).toEqual({ ok: true, actions: bare });
      expect(await installed()).toEqual(OLD);
      index.mode = 'down';
      const outcome = await install(installer, job);
      index.mode = 'up';
      expect(outcome).toMatchObject({ ok: true });
      expect(outcome.output).toContain('All requirements are met.');
      expect(await installed()).toEqual(NEW);
      expect(readdirSync(sitePackages).filter((name) => name.startsWith('demo_app'))).toEqual([
        ...['demo_app-2.0.dist-info', 'demo_app.py'],
      ]);
      expect(await python.systemInstalled()).toEqual(SYSTEM_NOW);
    },
  );

  test.each(firstOf(1, places))(
    'of %s a rollback removes what came, and not what the system has under that name',
    async (_what, kind) => {
      const { host, arch, installed } = await openOne(kind);
      const installer = pypiInstallerOf(python.prefix);
      const carryOut = async (toVersion: string, actions: readonly PlanAction[]) => {
        const stage = await mkdtemp(join(dir.path, 'stage-'));
        const fetched = await fetchActions(host.planner, { actions, directory: stage });
        if (!fetched.ok) throw new Error(fetched.reason);
        const approval = approvalOf({ ecosystem: 'pypi', name: 'leaner', toVersion, actions });
        return install(installer, { paths: host.paths, stage, approval });
      };
      const actions = await planOf(host, arch, ['leaner', '2.0']);
      if (typeof actions === 'string') throw new Error(actions);
      expect(await carryOut('2.0', actions)).toMatchObject({ ok: true });
      expect(await installed()).toMatchObject({ leaner: '2.0', 'too-old': '1.5' });
      const undo = await planUpdates(
        await openPlanner(host.paths, host.places),
        { updates: [{ name: 'leaner', arch, toVersion: '1.0' }], undo: inverseOf(actions) },
        new Date(),
      );
      if (!undo.ok) throw new Error(undo.reason);
      expect(brief(undo.plan.actions)).toEqual(['downgrade leaner 2.0 1.0', 'remove too-old 1.5 ']);
      expect(await carryOut('1.0', undo.plan.actions)).toMatchObject({ ok: true });
      expect(await installed()).toEqual(OLD);
      expect(await python.systemInstalled()).toEqual(SYSTEM_NOW);
    },
  );

  test("a package in the location takes precedence over the system's package of that name", async () => {
    const installed = [...INSTALLED, { name: 'suits', version: '1.0' }, { name: 'too-old', version: '1.5' }];
    const { sitePackages } = await newUser({ ...OWNER, installed });
    const host = await openHost({ userFolders: [sitePackages] }, python.prefix);
    expect(brief(await planOf(host, sitePackages, ['leaner', '2.0']))).toEqual(['upgrade leaner 1.0 2.0']);
    expect(brief(await planOf(host, sitePackages, ['suits', '2.0']))).toEqual(['upgrade suits 1.0 2.0']);
  });

  test("packages of a user who can also write the system's are updated in their location alone", async () => {
    const user = await newUser({});
    const host = await openHost({ userFolders: [user.sitePackages] }, python.prefix);
    const outcome = await install(pypiInstallerOf(python.prefix), await prepare(host, user.sitePackages));
    expect(outcome).toMatchObject({ ok: true });
    expect(await user.installed()).toEqual(NEW);
    expect(await python.systemInstalled()).toEqual(SYSTEM_NOW);
  });

  test.runIf(asRoot)(
    'acts as the user whose packages they are, and nothing of his is root afterwards',
    async () => {
      const user = await newUser();
      const host = await openHost({ userFolders: [user.sitePackages] }, python.prefix);
      const proof = join(dir.path, 'proof');
      await mkdir(proof);
      await chmod(proof, 0o777);
      const mark = `import os; open(${JSON.stringify(proof)} + f"/{os.getuid()}-{os.getgid()}-{os.getgroups()}", "w").close()\n`;
      for (const name of ['who.pth', 'usercustomize.py']) {
        writeFileSync(join(user.sitePackages, name), mark);
        await chown(join(user.sitePackages, name), NOBODY.uid, NOBODY.gid);
      }
      const job = await prepare(host, user.sitePackages, { anew: true });
      expect(readdirSync(proof)).toEqual([]); // neither a scan nor a plan runs anything of the user's
      expect(await install(pypiInstallerOf(python.prefix), job)).toMatchObject({ ok: true });
      expect(readdirSync(proof)).toEqual([`${NOBODY.uid}-${NOBODY.gid}-[]`]);
      const script = join(user.home, '.local/bin/demo');
      expect(await readFile(script, 'utf8')).toContain(`#!${python.python}`);
      for (const path of [script, join(user.sitePackages, 'demo_app.py')]) {
        expect(statSync(path).uid).toBe(NOBODY.uid);
      }
    },
  );

  test.runIf(asRoot)(
    'a folder of root in the home of somebody else, and a link in it, are refused',
    async () => {
      const user = await newUser();
      const host = await openHost({ userFolders: [user.sitePackages] }, python.prefix);
      const job = await prepare(host, user.sitePackages);
      const installer = pypiInstallerOf(python.prefix);
      await lchown(user.sitePackages, 0, 0);
      expect(await simulate(installer, job)).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/is not changed: .* belongs to user 65534$/),
      });
      await giveAway(user.sitePackages, NOBODY);
      const linked = join(dir.path, 'linked');
      symlinkSync(user.home, linked);
      const arch = user.sitePackages.replace(user.home, linked);
      const actions = job.actions.map((action) => ({ ...action, arch }));
      const approval = approvalOf({ ecosystem: 'pypi', name: 'demo-app', toVersion: '2.0', actions });
      expect(await install(installer, { ...job, approval })).toMatchObject({
        ok: false,
        detail: expect.stringContaining('is reached through a link'),
      });
      expect(await user.installed()).toEqual(OLD);
    },
  );

  test.runIf(asRoot)(
    'root runs nothing that somebody else could have put among the packages of the system',
    async () => {
      const { host, arch, installed } = await openOne('environment');
      const job = await prepare(host, arch);
      const inside = join(python.systemPackages, 'suits.py');
      await chown(inside, NOBODY.uid, NOBODY.gid);
      const simulated = await simulate(pypiInstallerOf(python.prefix), job);
      await chown(inside, 0, 0);
      expect(simulated).toEqual({
        ok: false,
        detail: `${arch} is root's, but ${inside} belongs to user ${NOBODY.uid}`,
      });
      expect(await installed()).toEqual(OLD);
    },
  );

  test('an installation that changed the system has failed', async () => {
    const { host, arch, sitePackages } = await openOne('environment');
    const job = await prepare(host, arch);
    const [info, aside] = [join(python.systemPackages, 'suits-1.0.dist-info'), join(dir.path, 'aside')];
    const [from, to] = [JSON.stringify(info), JSON.stringify(aside)];
    const line = `import os; os.path.exists(${from}) and os.rename(${from}, ${to})\n`;
    writeFileSync(join(sitePackages, 'meddling.pth'), line);
    const outcome = await install(pypiInstallerOf(python.prefix), job);
    renameSync(aside, info);
    const detail = "of the system's packages suits is not installed, not 1.0";
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed', detail });
  });

  test.runIf(asRoot)(
    'an interpreter that the user could have put there is not run for what he installed',
    async () => {
      const user = await newUser();
      const host = await openHost({ userFolders: [user.sitePackages] }, python.prefix);
      const job = await prepare(host, user.sitePackages);
      await chown(python.python, NOBODY.uid, NOBODY.gid);
      const simulated = await simulate(pypiInstallerOf(python.prefix), job);
      await chown(python.python, 0, 0);
      expect(!simulated.ok && simulated.detail).toMatch(/is not run: .* belongs to user 65534/);
    },
  );

  test("an environment of the machine's own interpreter that sees its packages gets a plan", async () => {
    const { path } = await createPypiHost(join(dir.path, 'of-the-machine'), {
      ...{ installed: INSTALLED, withSystemPackages: true },
    });
    const host = await openHost({ environments: [path] });
    expect(brief(await planOf(host, path, ['demo-lib', '1.1']))).toEqual(['upgrade demo-lib 1.0 1.1']);
  });

  test('an unreadable system package stops the plan, as what is installed is unknown', async () => {
    const { host, arch } = await openOne('user');
    const broken = join(python.systemPackages, 'broken-1.0.dist-info');
    await mkdir(broken);
    const planned = await planOf(host, arch, ['demo-app', '2.0']);
    await runTool('rm', ['-r', broken]);
    expect(planned).toMatch(/^among the packages of the system: .*broken-1\.0\.dist-info.* cannot be read/);
  });

  test.each(['lib', 'lib64'])(
    'where the interpreter has EXTERNALLY-MANAGED in %s, what users installed is held, not planned and not touched (PEP 668)',
    async (lib) => {
      const user = await newUser();
      const { sitePackages } = user;
      const host = await openHost({ userFolders: [sitePackages] }, python.prefix);
      const job = await prepare(host, sitePackages);
      const stdlib = join(python.prefix, lib, `python${python.version}`);
      await mkdir(stdlib, { recursive: true });
      const marker = join(stdlib, 'EXTERNALLY-MANAGED');
      writeFileSync(marker, '[externally-managed]\n');
      const scan = await scanPypi(host.paths, host.places);
      const planned = await planOf(host, sitePackages, ['demo-app', '2.0']);
      const outcome = await install(pypiInstallerOf(python.prefix), job);
      await runTool('rm', [marker]);
      expect(scan.packages.every(({ held }) => held)).toBe(true);
      expect(scan.updates.map(({ name }) => name)).toContain('demo-app');
      expect(planned).toBe(`${sitePackages} is externally managed (PEP 668)`);
      const detail = `the transaction cannot be simulated: ${planned}`;
      expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift', detail });
      expect(await user.installed()).toEqual(OLD);
    },
  );

  test("on the machine's own interpreter its EXTERNALLY-MANAGED file decides (PEP 668)", async () => {
    const user = await newUser();
    const { sitePackages } = user;
    const isManaged = ['lib', 'lib64'].some((lib) =>
      existsSync(join('/usr', lib, `python${python.version}`, 'EXTERNALLY-MANAGED')),
    );
    const job = await prepare(await openHost({ userFolders: [sitePackages] }, python.prefix), sitePackages);
    const host = await openHost({ userFolders: [sitePackages] });
    const refused = `${sitePackages} is externally managed (PEP 668)`;
    const planned = brief(await planOf(host, sitePackages, ['demo-app', '2.0']));
    const simulated = await simulate(pypiInstaller, job);
    expect(planned === refused).toBe(isManaged);
    expect(!simulated.ok && simulated.detail === refused).toBe(isManaged);
    expect(await user.installed()).toEqual(OLD);
  });
});
