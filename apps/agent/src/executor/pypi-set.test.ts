import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { keepOriginal } from '@tidegate/testkit/keep-original';
import { isLong } from '@tidegate/testkit/lanes';
import { createPypiHost, type PypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { type PypiIndex, startPypiIndex } from '@tidegate/testkit/pypi-index';
import type { PypiPackage } from '@tidegate/testkit/pypi-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { fetchActions } from '../ecosystems/pypi/fetch.ts';
import { type FoundPlaces, findPlaces } from '../ecosystems/pypi/places.ts';
import { planUpdates } from '../ecosystems/pypi/plan.ts';
import { openPlanner } from '../ecosystems/pypi/pypi.ts';
import { approvalOfSet } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { type StagingDriver, stageOnce } from '../testing/stage-once.ts';
import { pypiInstaller } from './pypi.ts';
import { updateOutcomes } from './update-outcomes.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: sets of PyPI on a real environment: ${missing}`);
const NOWHERE = { environments: [], userFolders: [], faults: [], unseen: [] };

/** `left` and `right` share `base`; `high` and `low` want different versions of `limit`; `kept` limits `fussy`. */
const old = (name: string, ...requires: string[]): PypiPackage => ({ name, version: '1.0', requires });
const offered = (name: string, ...requires: string[]): PypiPackage => ({ name, version: '2.0', requires });
const INSTALLED = [
  ...[old('left', 'base>=1'), old('right', 'base>=1'), old('base'), old('still'), old('other')],
  ...[old('high', 'limit'), old('low', 'limit'), old('limit'), old('fussy'), old('kept', 'fussy<2')],
];
/** Needs a folder where the test puts a file. pip installs what nothing requires from the last name to the first. */
const BLOCKED: PypiPackage = {
  ...offered('aa-blocked'),
  extraFiles: [{ path: 'in_the_way/inside.py', content: '' }],
};
const OFFERED = [
  ...[offered('left', 'base>=2', 'fresh'), offered('right', 'base>=2'), offered('base'), offered('still')],
  ...[old('fresh'), offered('high', 'limit>=2'), offered('low', 'limit<2'), offered('limit')],
  ...[offered('fussy'), offered('kept', 'fussy>=2'), BLOCKED],
];

describe.skipIf(missing !== null)('a set of PyPI on a real environment', () => {
  const dir = tmpDir('tidegate-pypi-set-');
  let index: PypiIndex;
  let host: PypiHost;
  let paths: HostPaths;
  let found: FoundPlaces;
  let restore: () => Promise<void>;

  beforeAll(async () => {
    await chmod(dir.path, 0o755);
    index = await startPypiIndex([...INSTALLED, ...OFFERED, old('aa-blocked')]);
    host = await createPypiHost(join(dir.path, 'env'), { installed: [...INSTALLED, old('aa-blocked')] });
    paths = hostPaths({ pypi_environments: [host.path], pypi_index: index.url });
    found = await findPlaces(paths, NOWHERE);
    restore = await keepOriginal(host.path);
  });
  beforeEach(() => restore());
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  const targetsOf = (names: readonly string[], arch = host.path) =>
    names.map((name) => ({ name, arch, toVersion: '2.0' }));
  const driver: StagingDriver = {
    plan: async (of, request) => planUpdates(await openPlanner(of, found), request, new Date()),
    fetch: async (of, job) => fetchActions(await openPlanner(of, found), job),
  };
  const planSet = (names: readonly string[]) => driver.plan(paths, { updates: targetsOf(names) });
  const staged = stageOnce(dir.path, driver);

  /** Plans, approves and stages a set as server and agent would. */
  async function prepare(
    names: readonly string[],
    { approved = names, change = (actions: PlanAction[]) => actions } = {},
  ) {
    const { stage, actions: planned } = await staged(paths, ...targetsOf(names));
    await chmod(stage, 0o700);
    const actions = change(planned);
    const approval = approvalOfSet({ ecosystem: 'pypi', updates: targetsOf(approved), actions });
    return { paths, stage, actions, approval };
  }

  const moves = (actions: readonly PlanAction[]) =>
    actions.map(({ name, from_version: from = '', to_version: to = '' }) => `${name} ${from} ${to}`);

  test('is planned as one transaction, whatever the order, and installed in one run', async () => {
    const job = await prepare(['still', 'right', 'left']);
    expect(moves(job.actions)).toEqual([
      ...['base 1.0 2.0', 'fresh  1.0', 'left 1.0 2.0', 'right 1.0 2.0', 'still 1.0 2.0'],
    ]);
    const again = await planSet(['left', 'right', 'still']);
    expect(again.ok && again.plan.actions).toEqual(job.actions);
    const before = await host.installed();
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: true });
    expect(outcome.output.match(/Successfully installed/g)).toHaveLength(1);
    expect(await host.installed()).toEqual({
      ...before,
      ...{ base: '2.0', fresh: '1.0', left: '2.0', right: '2.0', still: '2.0' },
    });
  });

  test('that pip cannot resolve names the members in conflict, and is not made smaller', async () => {
    expect(await planSet(['left', 'high', 'low', 'still'])).toMatchObject({
      ok: false,
      reason: expect.stringContaining('high, low cannot be updated together'),
      conflicting: targetsOf(['high', 'low']),
    });
    expect(await planSet(['left', 'high', 'still'])).toMatchObject({ ok: true });
  });

  test('that would break what stays names the member that does; with its sibling it is planned', async () => {
    expect(await planSet(['left', 'fussy'])).toMatchObject({
      ok: false,
      conflicting: targetsOf(['fussy']),
    });
    expect(await planSet(['left', 'fussy', 'kept'])).toMatchObject({ ok: true });
  });

  test.each<[string, (path: string) => { name: string; arch: string }[], RegExp]>([
    [
      'two places',
      (arch) => [
        { name: 'left', arch },
        { name: 'other', arch: '/srv/env' },
      ],
      /another place/,
    ],
    [
      'one package in two spellings',
      (arch) => [
        { name: 'aa-blocked', arch },
        { name: 'AA_Blocked', arch },
      ],
      /named twice/,
    ],
    ['no updates', () => [], /at least one/],
  ])('of %s is not planned', async (_title, updatesOf, reason) => {
    const updates = updatesOf(host.path).map((one) => ({ ...one, toVersion: '2.0' }));
    const outcome = await planUpdates(await openPlanner(paths, found), { updates }, new Date());
    expect(outcome).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test('that fails in the middle says of each update what is there', async () => {
    await writeFile(join(host.sitePackages, 'in_the_way'), 'a file');
    const job = await prepare(['still', 'aa-blocked']);
    const outcome = await install(pypiInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    if (!outcome.ok && outcome.reason !== 'install_failed') throw new Error(outcome.reason);
    const installed = await host.installed();
    const { updates } = job.approval.payload;
    for (const { update_id, outcome: said } of updateOutcomes(updates, { outcome, reached: [] })) {
      const name = updates.find((update) => update.update_id === update_id)?.name ?? '';
      expect([name, said]).toEqual([name, installed[name] === '2.0' ? 'installed' : 'failed']);
    }
    expect(installed).toMatchObject({ still: '2.0', 'aa-blocked': '1.0' });
  });

  describe('attacked', () => {
    test.each<[string, () => ReturnType<typeof prepare>, RegExp]>([
      [
        'an action in another place',
        () =>
          prepare(['left', 'right'], {
            change: (actions) =>
              actions.map((one) => (one.name === 'base' ? { ...one, arch: '/srv/env' } : one)),
          }),
        /another location/,
      ],
      [
        'an action of no update',
        () => prepare(['left', 'right', 'still'], { approved: ['left', 'right'] }),
        /it would not upgrade still/,
      ],
      [
        'an action left out',
        () =>
          prepare(['left', 'right'], {
            change: (actions) => actions.filter(({ name }) => name !== 'base'),
          }),
        /cannot be simulated/,
      ],
    ])('with %s nothing is changed', async (_title, attack, detail) => {
      const before = await host.installed();
      const outcome = await install(pypiInstaller, await attack());
      expect(outcome).toMatchObject({
        ...{ ok: false, reason: 'plan_drift' },
        detail: expect.stringMatching(detail),
      });
      expect(await host.installed()).toEqual(before);
    });

    test.each<[string, () => ReturnType<typeof prepare>]>([
      ['an update without an action', () => prepare(['left'], { approved: ['left', 'still'] })],
      [
        'an update of another place',
        () =>
          prepare(['left', 'still'], {
            change: (actions) =>
              actions.map((one) => (one.name === 'still' ? { ...one, arch: '/srv/env' } : one)),
          }),
      ],
    ])('with %s it is no approval', async (_title, attack) => {
      await expect(attack()).rejects.toThrow('unsound');
    });

    test('with an altered file in the middle of the set nothing is changed', async () => {
      const before = await host.installed();
      const job = await prepare(['left', 'right', 'still']);
      const path = join(job.stage, job.actions[2]?.artifact?.filename ?? '');
      // In the comment at the end of the archive: pip can read it, and only the hash tells.
      await writeFile(path, Buffer.concat([await readFile(path), Buffer.from('x')]));
      expect(await install(pypiInstaller, job)).toMatchObject({ ok: false });
      expect(await host.installed()).toEqual(before);
    });
  });

  if (isLong) {
    test('ends in the same versions in any order and overlap', async () => {
      const orders = [
        [['left'], ['right', 'still'], ['left', 'right']],
        [['still', 'left', 'right']],
        [['right', 'left'], ['left'], ['still']],
      ];
      const ends: unknown[] = [];
      for (const sets of orders) {
        await restore();
        // All are approved before the first is installed: what a sibling brings is done already.
        const jobs = [];
        for (const names of sets) jobs.push(await prepare(names));
        for (const job of jobs) expect(await install(pypiInstaller, job)).toMatchObject({ ok: true });
        ends.push(await host.installed());
      }
      for (const end of ends) expect(end).toEqual(ends[0]);
      expect(ends.length).toBe(orders.length);
    });
  }
});
