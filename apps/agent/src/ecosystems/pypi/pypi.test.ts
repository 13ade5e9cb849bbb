import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { InventoryReport } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { createPypiHost, type PypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import { PYPI_DEMO, type PypiPackage } from '@tidegate/testkit/pypi-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { fetchActions } from './fetch.ts';
import { type FoundPlaces, findPlaces } from './places.ts';
import { planUpdates } from './plan.ts';
import { openPlanner, pypiDriver } from './pypi.ts';
import { scanPypi } from './scan.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: PyPI on a real environment: ${missing}`);

const INSTALLED: PypiPackage[] = [
  ...PYPI_DEMO.old,
  { name: 'yanky', version: '1.0' },
  { name: 'source-only', version: '1.0' },
  { name: 'needs-source', version: '1.0' },
  { name: 'kept', version: '1.0', requires: ['fussy<2'] },
  { name: 'fussy', version: '1.0' },
  { name: 'growing', version: '1.0' },
  { name: 'needs-pip', version: '1.0' },
];
const OFFERED: PypiPackage[] = [
  ...PYPI_DEMO.old,
  ...PYPI_DEMO.offered,
  { name: 'demo-lib', version: '9.0' }, // newer than needed: the installed version satisfies the requirement
  { name: 'demo-app', version: '3.0rc1' },
  { name: 'demo-app', version: '4.0', requiresPython: '>=99' },
  { name: 'demo-app', version: '5.0', yanked: true },
  { name: 'yanky', version: '2.0', yanked: true },
  { name: 'source-only', version: '2.0', kind: 'sdist' },
  { name: 'needs-source', version: '2.0', requires: ['built-here'] },
  { name: 'built-here', version: '1.0', kind: 'sdist' },
  { name: 'fussy', version: '2.0' },
  { name: 'kept', version: '1.0', requires: ['fussy<2'] },
  {
    name: 'growing',
    version: '2.0',
    requires: ['grown; python_version >= "3"', 'never; python_version < "3"'],
  },
  { name: 'growing', version: '2.1', tag: 'py3-none-win32' },
  { name: 'grown', version: '1.0' },
  { name: 'needs-pip', version: '1.5', requires: ['pip'] },
  { name: 'pip', version: '0.1' },
];
const NOWHERE = { environments: [], userFolders: [], faults: [], unseen: [] };

describe.skipIf(missing !== null)('PyPI on a real environment', () => {
  const dir = tmpDir('tidegate-pypi-test-');
  let index: PypiIndex;
  let host: PypiHost;
  let paths: HostPaths;
  let found: FoundPlaces;

  beforeAll(async () => {
    await chmod(dir.path, 0o755);
    index = await startPypiIndex(OFFERED);
    host = await createPypiHost(join(dir.path, 'env'), { installed: INSTALLED });
    paths = hostPaths({ pypi_environments: [host.path], pypi_index: `${index.url}/` });
    found = await findPlaces(paths, NOWHERE);
  });
  beforeEach(() => {
    index.mode = 'up';
  });
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  const plan = async (name: string, toVersion: string, changed: Partial<FoundPlaces> = {}) =>
    planUpdates(
      await openPlanner(paths, { ...found, ...changed }),
      { updates: [{ name, toVersion, arch: host.path }] },
      new Date(),
    );
  const actionsOf = async (name: string, toVersion: string): Promise<PlanAction[]> => {
    const outcome = await plan(name, toVersion);
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  };
  const brief = ({ action, name, arch, from_version, to_version }: PlanAction) =>
    [action, name, arch === host.path, from_version, to_version].join(' ');

  test('a scan is complete and matches the schema, each package with its place', async () => {
    const scan = await scanPypi(paths, found);
    expect(scan).toMatchObject({ complete: true, reason: null });
    const { packages, updates, complete } = scan;
    expect(Check(InventoryReport, { scanned_at: '2026-01-01T00:00:00Z', complete, packages, updates })).toBe(
      true,
    );
    expect(Object.fromEntries(packages.map(({ name, version }) => [name, version]))).toEqual(
      await host.installed(),
    );
    expect(packages.every(({ arch, held }) => arch === host.path && held === false)).toBe(true);
    const wheel = index.bytesOf('demo_app-2.0-py3-none-any.whl');
    expect(updates.find(({ name }) => name === 'demo-app')).toEqual({
      ...{ name: 'demo-app', current_version: '1.0', available_version: '2.0', arch: host.path },
      ...{ origin: index.url, size_bytes: wheel.length, offers: ['newest'], candidates: ['2.0'] },
    });
    const demoLib = updates.filter(({ name }) => name === 'demo-lib');
    expect(
      demoLib.map(({ available_version, offers, candidates }) => [available_version, offers, candidates]),
    ).toEqual([
      ['1.1', ['series'], undefined],
      ['9.0', ['newest'], ['1.1', '9.0']],
    ]);
    // What cannot be installed here fixes nothing.
    expect(updates.find(({ name }) => name === 'source-only')?.candidates).toEqual([]);
  });

  test.each(['up', 'html'] as const)(
    'neither pre-releases nor yanked versions nor those for another Python are offered (%s)',
    async (mode) => {
      index.mode = mode;
      const { updates } = await scanPypi(paths, found);
      expect(updates.map(({ name, available_version }) => `${name} ${available_version}`).sort()).toEqual([
        ...[
          'demo-app 2.0',
          'demo-lib 1.1',
          'demo-lib 9.0',
          'fussy 2.0',
          'growing 2.1',
          'needs-pip 1.5',
          'needs-source 2.0',
          'source-only 2.0',
        ],
      ]);
    },
  );

  test.each([
    ['down', /cannot be queried/],
    ['failing', /answers 503/],
    ['garbage', /not valid JSON/],
  ] as const)(
    'an index that is %s makes the scan incomplete with the reason, never empty',
    async (mode, reason) => {
      index.mode = mode;
      const scan = await scanPypi(paths, found);
      expect(scan.complete).toBe(false);
      expect(scan.reason).toMatch(reason);
      expect(scan.packages).toHaveLength(INSTALLED.length);
    },
  );

  test('an index without the packages is not a fault: they may be private', async () => {
    index.mode = 'not-found';
    expect(await scanPypi(paths, found)).toMatchObject({ complete: true, updates: [] });
  });

  test('one place that cannot be read makes the scan incomplete, and the others are read', async () => {
    const broken = join(dir.path, 'no-environment');
    const both = hostPaths({ pypi_environments: [broken, host.path], pypi_index: index.url });
    const scan = await scanPypi(both, await findPlaces(both, NOWHERE));
    expect(scan).toMatchObject({ complete: false, reason: `${broken} cannot be read` });
    expect(scan.packages).toHaveLength(INSTALLED.length);
    expect(await pypiDriver.present(both)).toBe(true);
  });

  test.each(['up', 'html'] as const)(
    'a plan holds the closure with name, URL, size, hash and origin of every wheel (%s)',
    async (mode) => {
      index.mode = mode;
      const actions = await actionsOf('demo-app', '2.0');
      expect(actions.map(brief)).toEqual(['upgrade demo-app true 1.0 2.0', 'upgrade demo-lib true 1.0 9.0']);
      for (const { origin, artifact } of actions) {
        const bytes = index.bytesOf(artifact?.filename ?? '');
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        expect(artifact).toMatchObject({ size_bytes: bytes.length, sha256 });
        expect(artifact?.url).toBe(`${index.url.replace('/simple', '/files/')}${artifact?.filename}`);
        expect(origin).toBe(index.url);
      }
    },
  );

  test('a satisfied dependency stays, a new one is added, and markers are those of the environment', async () => {
    expect((await actionsOf('growing', '2.0')).map(brief)).toEqual([
      'upgrade growing true 1.0 2.0',
      'install grown true  1.0',
    ]);
    expect((await actionsOf('demo-lib', '1.1')).map(brief)).toEqual(['upgrade demo-lib true 1.0 1.1']);
  });

  test('packages of the system do not count as installed in the environment', async () => {
    expect((await actionsOf('needs-pip', '1.5')).map(brief)).toEqual([
      'upgrade needs-pip true 1.0 1.5',
      'install pip true  0.1',
    ]);
  });

  test.each([
    ['source-only', '2.0', /^only a source distribution of source-only 2\.0 exists/],
    ['needs-source', '2.0', /^only a source distribution of built-here exists/],
    ['growing', '2.1', /No matching distribution/],
    ['fussy', '2.0', /it would break the place: kept 1\.0 has requirement fussy<2/],
    ['yanky', '2.0', /was yanked/],
    ['demo-app', '4.0', /No matching distribution|requires a different python/i],
    ['demo-app', '1.0', /pip does not update/],
    ['absent', '1.0', /is not installed/],
    ['--index-url', '1.0', /pip does not accept/],
    ['demo-app', '2.0 --hash=x', /pip does not accept/],
  ])('there is no plan of %s %s, with the reason', async (name, version, reason) => {
    const outcome = await plan(name, version);
    expect(outcome.ok ? 'a plan' : outcome.reason).toMatch(reason);
    expect(existsSync('/tmp/tidegate-sdist-was-built')).toBe(false);
  });

  test('scan and plan run nothing from the environment', async () => {
    const proof = join(dir.path, 'was-run');
    const script = `import pathlib; pathlib.Path(${JSON.stringify(proof)}).touch()\n`;
    for (const name of ['evil.pth', 'sitecustomize.py', 'usercustomize.py', 'pip.py', 'keyring.py']) {
      writeFileSync(join(host.sitePackages, name), script);
    }
    expect(await scanPypi(paths, found)).toMatchObject({ complete: true });
    expect(await actionsOf('demo-app', '2.0')).toHaveLength(2);
    expect(existsSync(proof)).toBe(false);
  });

  test('an interpreter that the user of the environment could have put there is not run', async () => {
    const trap = await createPypiHost(join(dir.path, 'trap'), { installed: PYPI_DEMO.old });
    const program = join(dir.path, 'python');
    writeFileSync(program, '#!/bin/sh\ntouch "$0.was-run"\n', { mode: 0o777 });
    await chmod(program, 0o777);
    unlinkSync(join(trap.path, 'bin/python'));
    symlinkSync(program, join(trap.path, 'bin/python'));
    const there = hostPaths({ pypi_environments: [trap.path], pypi_index: index.url });
    const planner = await openPlanner(there, await findPlaces(there, NOWHERE));
    const outcome = await planUpdates(
      planner,
      { updates: [{ name: 'demo-app', toVersion: '2.0', arch: trap.path }] },
      new Date(),
    );
    expect(outcome.ok ? 'a plan' : outcome.reason).toMatch(/is not run: .* can be written by others/);
    expect(existsSync(`${program}.was-run`)).toBe(false);
  });

  test('what is pinned by pipx, not from an index or externally managed (PEP 668) is reported and never planned', async () => {
    const special = await createPypiHost(join(dir.path, 'special'), { installed: PYPI_DEMO.old });
    const there = hostPaths({ pypi_environments: [special.path], pypi_index: index.url });
    const places = await findPlaces(there, NOWHERE);
    const tried = async () => {
      const planner = await openPlanner(there, places);
      const outcome = await planUpdates(
        planner,
        { updates: [{ name: 'demo-app', toVersion: '2.0', arch: special.path }] },
        new Date(),
      );
      return outcome.ok ? 'a plan' : outcome.reason;
    };
    const shown = async () =>
      (await scanPypi(there, places)).packages.find(({ name }) => name === 'demo-app');
    const pins = join(special.path, 'pipx_metadata.json');
    writeFileSync(pins, JSON.stringify({ main_package: { package: 'demo_app', pinned: true } }));
    expect(await shown()).toMatchObject({ held: true });
    expect(await tried()).toBe('demo-app is pinned by pipx');

    writeFileSync(pins, JSON.stringify({ main_package: { package: 'demo_app', pinned: false } }));
    const direct = join(special.sitePackages, 'demo_app-1.0.dist-info/direct_url.json');
    writeFileSync(
      direct,
      JSON.stringify({ url: 'https://user:secret@git.example/app', vcs_info: { vcs: 'git' } }),
    );
    expect(await shown()).toMatchObject({ held: false, origin: 'direct: https://git.example/app' });
    expect((await scanPypi(there, places)).updates.map(({ name }) => name)).not.toContain('demo-app');
    expect(await tried()).toMatch(/not from an index/);

    writeFileSync(join(special.sitePackages, '../EXTERNALLY-MANAGED'), '[externally-managed]\n');
    expect(await shown()).toMatchObject({ held: true });
    expect(await tried()).toBe(`${special.path} is externally managed (PEP 668)`);
  });

  describe('fetching', () => {
    async function fetchAll(actions: PlanAction[]) {
      const directory = await mkdtemp(join(dir.path, 'fetched-'));
      const outcome = await fetchActions(await openPlanner(paths, found), { actions, directory });
      return { outcome, names: readdirSync(directory).sort(), directory };
    }

    test('brings exactly the files of the plan', async () => {
      const actions = await actionsOf('demo-app', '2.0');
      const { outcome, names, directory } = await fetchAll(actions);
      expect(outcome).toEqual({ ok: true });
      expect(names).toEqual(['demo_app-2.0-py3-none-any.whl', 'demo_lib-9.0-py3-none-any.whl']);
      for (const name of names) expect(readFileSync(join(directory, name))).toEqual(index.bytesOf(name));
    });

    test.each([
      [
        'one byte of a wheel differs while the index keeps its hash',
        () => index.tamper('demo_lib-9.0-py3-none-any.whl'),
      ],
      [
        'index and file were changed together',
        () => index.publish({ name: 'demo-lib', version: '9.0', content: 'bad' }),
      ],
    ])('is a mismatch where %s, and leaves nothing', async (_title, change) => {
      const actions = await actionsOf('demo-app', '2.0');
      change();
      const { outcome, names } = await fetchAll(actions);
      index.publish(...OFFERED);
      expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo-lib' });
      expect(names).not.toContain('demo_lib-9.0-py3-none-any.whl');
    });

    test('of a name with a path is a mismatch before any request', async () => {
      const [action] = await actionsOf('demo-lib', '1.1');
      const asked = index.requests.length;
      for (const filename of [
        '../demo_lib-1.1-py3-none-any.whl',
        'demo_lib-1.1.tar.gz',
        'other-1.1-py3-none-any.whl',
      ]) {
        if (action?.artifact === undefined) throw new Error('no artifact');
        const { outcome } = await fetchAll([{ ...action, artifact: { ...action.artifact, filename } }]);
        expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo-lib' });
      }
      expect(index.requests).toHaveLength(asked);
    });

    test('from an index that is down says so', async () => {
      const actions = await actionsOf('demo-lib', '1.1');
      index.mode = 'down';
      const { outcome } = await fetchAll(actions);
      expect(outcome.ok ? '' : outcome.reason).not.toMatch(/^artifact_mismatch/);
      expect(outcome.ok).toBe(false);
    });
  });
});
