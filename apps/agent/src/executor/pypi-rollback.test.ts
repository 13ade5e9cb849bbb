import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf } from '@tidegate/protocol/rollbacks';
import { doOnce } from '@tidegate/testkit/do-once';
import { keepOriginal } from '@tidegate/testkit/keep-original';
import { firstOf, isLong } from '@tidegate/testkit/lanes';
import { createPypiHost, type PypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import { type PypiPackage, pypiFilename } from '@tidegate/testkit/pypi-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepWayBack } from '../commands/keep-way-back.ts';
import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { openKept } from '../ecosystems/kept-files.ts';
import { fetchActions } from '../ecosystems/pypi/fetch.ts';
import { type FoundPlaces, findPlaces } from '../ecosystems/pypi/places.ts';
import { planUpdates } from '../ecosystems/pypi/plan.ts';
import { openPlanner, pypiDriver } from '../ecosystems/pypi/pypi.ts';
import { fetchReplaced } from '../ecosystems/pypi/replaced.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { pypiInstaller } from './pypi.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: rollbacks of PyPI on a real environment: ${missing}`);

const NOW_MS = Date.parse('2026-11-01T12:00:00Z');
const NOWHERE = { environments: [], userFolders: [], faults: [], unseen: [] };

const version = (name: string, number: string, ...requires: string[]): PypiPackage => ({
  ...{ name, version: number, requires },
});
const INSTALLED = [
  version('app', '1.0', 'lib>=1'),
  version('lib', '1.0'),
  version('growing', '1.0'),
  version('plain', '1.0'),
  version('spelt', '1.0'),
];
const OFFERED = [
  version('app', '2.0', 'lib>=2'),
  version('lib', '2.0'),
  version('growing', '2.0', 'fresh'),
  version('fresh', '2.0'),
  version('plain', '2.0'),
  version('plain', '3.0'),
  version('spelt', '2.0.0'),
];

describe.skipIf(missing !== null)('rollbacks of PyPI on a real environment', () => {
  const dir = tmpDir('tidegate-pypi-rollback-');
  const kept = join(dir.path, 'kept');
  let index: PypiIndex;
  let host: PypiHost;
  let paths: HostPaths;
  let found: FoundPlaces;
  let restore: () => Promise<void>;
  let original: Record<string, string>;
  let warnings: string[];

  beforeAll(async () => {
    chmodSync(dir.path, 0o755);
    index = await startPypiIndex();
    host = await createPypiHost(join(dir.path, 'env'), { installed: INSTALLED });
    found = await findPlaces(hostPaths({ pypi_environments: [host.path], pypi_index: index.url }), NOWHERE);
    restore = await keepOriginal(host.path);
    original = await host.installed();
  });
  beforeEach(async () => {
    await restore();
    index.publish(...INSTALLED, ...OFFERED);
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { mode: 0o700 });
    paths = hostPaths({ pypi_environments: [host.path], pypi_index: index.url }, kept);
    warnings = [];
  });
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  const warn = (_: string, fields?: object) => warnings.push(JSON.stringify(fields));
  const log = { debug: () => {}, info: () => {}, warn, error: warn };
  /** The driver without its search of the whole machine for places. */
  const driver: EcosystemDriver = {
    ...pypiDriver,
    fetchReplaced: async (of, job) => fetchReplaced(await openPlanner(of, found), job),
  };

  async function planOf(name: string, toVersion: string, undo?: readonly PlanAction[]) {
    const updates = [{ name, arch: host.path, toVersion }];
    const request = { updates, ...(undo && { undo: inverseOf(undo) }) };
    const outcome = await planUpdates(await openPlanner(paths, found), request, new Date(NOW_MS));
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  }

  /** Fetches as the agent does, and installs as root does. */
  async function carryOut(name: string, toVersion: string, actions: readonly PlanAction[]) {
    const stage = mkdtempSync(join(dir.path, 'stage-'));
    const fetched = await fetchActions(await openPlanner(paths, found), { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    const means = { drivers: [driver], paths, log, nowMs: () => NOW_MS };
    const wayBack = await keepWayBack(means, { ecosystem: 'pypi', actions: [...actions] }, stage);
    chmodSync(stage, 0o700);
    const approval = approvalOf({ ecosystem: 'pypi', name, toVersion, actions });
    return { outcome: await install(pypiInstaller, { paths, stage, approval }), wayBack };
  }

  const updateOnce = doOnce(
    () => [host.path, kept],
    async (name: string, toVersion: string) => {
      const actions = await planOf(name, toVersion);
      const done = await carryOut(name, toVersion, actions);
      expect(done.outcome).toMatchObject({ ok: true });
      return { actions, ...done };
    },
  );

  /** Installs an update, and lets the index forget earlier versions. */
  async function update(name: string, toVersion: string, forget: readonly PypiPackage[] = []) {
    const done = await updateOnce(name, toVersion);
    for (const pkg of forget) index.withdraw(pypiFilename(pkg));
    return done;
  }

  const one = (name: string, number: string) => {
    const pkg = [...INSTALLED, ...OFFERED].find((each) => each.name === name && each.version === number);
    if (pkg === undefined) throw new RangeError(`${name} ${number} is no package of this test`);
    return pkg;
  };
  const versionOf = async (name: string) => (await host.installed())[name];
  const wordsOf = (actions: readonly PlanAction[]) => actions.map(({ action, name }) => `${action} ${name}`);

  describe('the file of a replaced version', () => {
    const backOf = async () => (await planOf('plain', '2.0')).map(({ back }) => back?.size_bytes);
    const sizeOf = (pkg: PypiPackage) => index.bytesOf(pypiFilename(pkg)).length;

    test('is the wheel of the index that was installed', async () => {
      expect(await backOf()).toEqual([sizeOf(one('plain', '1.0'))]);
      index.mode = 'html'; // without sizes: the file itself is asked
      expect(await backOf()).toEqual([sizeOf(one('plain', '1.0'))]);
      index.mode = 'up';
    });

    test('is told from others by its tags', async () => {
      const other = { ...one('plain', '1.0'), tag: 'py2.py3-none-any', content: 'another' };
      index.publish(other);
      expect(await backOf()).toEqual([sizeOf(one('plain', '1.0'))]);
      index.withdraw(pypiFilename(one('plain', '1.0')));
      expect(await backOf()).toEqual([undefined]);
      index.withdraw(pypiFilename(other));
    });

    test('is not known where the index has only its source, or has yanked it', async () => {
      index.publish({ ...one('plain', '1.0'), yanked: true });
      expect(await backOf()).toEqual([undefined]);
      index.withdraw(pypiFilename(one('plain', '1.0')));
      const source: PypiPackage = { ...one('plain', '1.0'), kind: 'sdist' };
      index.publish(source);
      expect(await backOf()).toEqual([undefined]);
      index.withdraw(pypiFilename(source));
    });
  });

  test.each(
    firstOf(2, [
      ['app', '2.0', '1.0', [one('app', '1.0'), one('lib', '1.0')]],
      ['growing', '2.0', '1.0', [one('growing', '1.0')]],
      ['spelt', '2.0.0', '1.0', [one('spelt', '1.0')]],
    ]),
  )(
    '%s %s is undone to %s from kept wheels that the index has not any more, and nothing else changes',
    async (name, number, old, forget) => {
      const { actions, wayBack } = await update(name, number, forget);
      const replaced = actions.filter(({ from_version: from }) => from !== undefined).length;
      expect(wayBack).toEqual({ kept: replaced, replaced });
      expect(await host.installed()).not.toEqual(original);
      const undo = await planOf(name, old, actions);
      const { outcome } = await carryOut(name, old, undo);
      expect(outcome).toMatchObject({ ok: true });
      expect(await host.installed()).toEqual(original);
      expect(existsSync(join(host.sitePackages, 'fresh.py'))).toBe(false);
      expect(warnings).toEqual([]);
    },
  );

  test('a kept wheel with one other byte is no plan, and is not handed to root', async () => {
    const { actions } = await update('plain', '2.0', [one('plain', '1.0')]);
    const undo = await planOf('plain', '1.0', actions);
    const of = { ecosystem: 'pypi' as const, name: 'plain', arch: host.path, version: '1.0' };
    const path = openKept(paths.kept).find(of)?.path ?? '';
    const bytes = readFileSync(path);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await expect(carryOut('plain', '1.0', undo)).rejects.toThrow('artifact_mismatch: plain');
    await expect(planOf('plain', '1.0', actions)).rejects.toThrow(
      'no way back: neither this host nor its index has the file of plain 1.0',
    );
    expect(await versionOf('plain')).toBe('2.0');
  });

  test('without a kept wheel the index brings the old version, as long as it has it', async () => {
    const { actions } = await update('app', '2.0');
    rmSync(paths.kept ?? '', { recursive: true });
    const undo = await planOf('app', '1.0', actions);
    expect(undo.map(({ action, name, origin }) => [action, name, origin])).toEqual([
      ['downgrade', 'app', index.url],
      ['downgrade', 'lib', index.url],
    ]);
    await carryOut('app', '1.0', undo);
    expect(await host.installed()).toEqual(original);
  });

  test('a rollback that would break another package is no plan', async () => {
    const { actions } = await update('growing', '2.0');
    await host.install(version('rider', '1.0', 'fresh>=2'));
    await expect(planOf('growing', '1.0', actions)).rejects.toThrow(
      /it would break the place: rider 1.0 requires fresh/,
    );
  });

  test('a package that came between plan and installation stops the rollback before it begins', async () => {
    const { actions } = await update('growing', '2.0');
    const undo = await planOf('growing', '1.0', actions);
    await host.install(version('rider', '1.0', 'fresh>=2'));
    const { outcome } = await carryOut('growing', '1.0', undo);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(await versionOf('growing')).toBe('2.0');
  });

  test('what pip cannot remove stops the rollback before it begins', async () => {
    const { actions } = await update('growing', '2.0');
    rmSync(join(host.sitePackages, 'fresh-2.0.dist-info/RECORD'));
    await expect(planOf('growing', '1.0', actions)).rejects.toThrow(
      'fresh was installed without the RECORD file that pip needs to replace it',
    );
  });

  test('an approval that takes nothing back removes nothing', async () => {
    const { actions } = await update('growing', '2.0');
    const undo = await planOf('growing', '1.0', actions);
    const plain = await planOf('plain', '2.0');
    const removal = undo.filter(({ action }) => action === 'remove');
    const { outcome } = await carryOut('plain', '2.0', [...plain, ...removal]);
    expect(!outcome.ok && outcome.detail).toContain('pip removes no packages, but fresh would be removed');
  });

  test('an installation goes on without a way back, and says so', async () => {
    const actions = await planOf('plain', '2.0');
    index.withdraw(pypiFilename(one('plain', '1.0')));
    const { outcome, wayBack } = await carryOut('plain', '2.0', actions);
    expect(outcome).toMatchObject({ ok: true });
    expect(wayBack).toEqual({ kept: 0, replaced: 1 });
  });

  if (isLong) {
    test('what was installed before by an approval is kept too, so the next update has a way back', async () => {
      await update('plain', '2.0', [one('plain', '1.0'), one('plain', '2.0')]);
      const next = await planOf('plain', '3.0');
      expect(next.map(({ back }) => back !== undefined)).toEqual([true]);
      await carryOut('plain', '3.0', next);
      await carryOut('plain', '2.0', await planOf('plain', '2.0', next));
      expect(await versionOf('plain')).toBe('2.0');
    });

    test('one wheel may be kept and another come from the index', async () => {
      const { actions } = await update('app', '2.0', [one('lib', '1.0')]);
      const of = { ecosystem: 'pypi' as const, name: 'app', arch: host.path, version: '1.0' };
      rmSync(openKept(paths.kept).find(of)?.path ?? '');
      expect(wordsOf(await planOf('app', '1.0', actions))).toEqual(['downgrade app', 'downgrade lib']);
    });

    test('a place that has moved on is not taken back behind what came later', async () => {
      const { actions } = await update('plain', '2.0');
      await host.install(one('plain', '3.0'));
      await expect(planOf('plain', '1.0', actions)).rejects.toThrow(
        `more than undo the installation: downgrade plain:${host.path} from 3.0 to 1.0`,
      );
    });

    test('what is undone already is left out of the plan, and of the installation', async () => {
      const { actions } = await update('app', '2.0');
      const whole = await planOf('app', '1.0', actions);
      await host.install(one('app', '1.0'));
      await expect(planOf('app', '1.0', actions)).rejects.toThrow('app 1.0 is there already');
      expect(wordsOf(await planOf('lib', '1.0', actions))).toEqual(['downgrade lib']);
      expect((await carryOut('app', '1.0', whole)).outcome).toMatchObject({ ok: true });
      expect(await host.installed()).toEqual(original);
    });
  }
});
