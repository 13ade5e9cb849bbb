import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { firstOf, isLong } from '@tidegate/testkit/lanes';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import type { NpmSet } from '@tidegate/testkit/npm-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { npmDriver } from '../ecosystems/npm/npm.ts';
import { approvalOfSet } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import { npmInstaller } from './npm.ts';

const missing = npmHostMissing();
if (missing !== null) console.log(`skipped: sets of npm on a real host: ${missing}`);

/** `finder` uses `walker`, which is a global package itself; `left` and `right` share `base`; `plug` limits `core`. */
const old = (name: string, dependencies: Record<string, string> = {}) => ({
  ...{ name, version: '1.0.0', dependencies },
});
const offered = (name: string, dependencies: Record<string, string> = {}) => ({
  ...{ name, version: '1.1.0', dependencies },
});
const PACKAGES: NpmSet = {
  global: [old('finder'), old('walker'), old('other')],
  project: { left: '^1.0.0', right: '^1.0.0', core: '^1.0.0', plug: '^1.0.0', still: '^1.0.0' },
  installed: [
    ...[old('finder', { walker: '^1.0.0' }), old('walker', { base: '^1.0.0' }), old('other')],
    ...[old('left', { base: '^1.0.0' }), old('right', { base: '^1.0.0' }), old('base')],
    ...[old('core'), old('plug'), old('still')],
  ],
  offered: [
    ...[offered('finder', { walker: '^1.1.0' }), offered('walker', { base: '^1.1.0' }), offered('other')],
    ...[offered('left', { base: '^1.1.0', fresh: '^1.0.0' }), offered('right', { base: '^1.1.0' })],
    ...[offered('base'), old('fresh'), offered('core'), offered('still')],
    { ...offered('plug'), peerDependencies: { core: '1.0.0' } },
  ],
};

describe.skipIf(missing !== null)('a set of npm on a real host', () => {
  const dir = tmpDir('tidegate-npm-set-');
  let host: NpmHost;
  let paths: HostPaths;

  beforeAll(async () => {
    host = await createNpmHost(dir.path, { packages: PACKAGES });
    paths = hostPaths({
      npm_prefix: host.prefix,
      npm_projects: [host.project],
      npm_registry: host.registry.url,
    });
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const targetsOf = (arch: string, names: readonly string[]) =>
    names.map((name) => ({ name, arch, toVersion: '1.1.0' }));
  const planSet = (arch: string, names: readonly string[]) =>
    npmDriver.plan(paths, { updates: targetsOf(arch, names) });

  const staged = stageOnce(dir.path, npmDriver);

  /** Plans, approves and stages a set as server and agent would. */
  async function prepare(arch: string, names: readonly string[]) {
    const { stage, actions } = await staged(paths, ...targetsOf(arch, names));
    const approval = approvalOfSet({ ecosystem: 'npm', updates: targetsOf(arch, names), actions });
    return { paths, stage, actions, approval };
  }

  const moves = (actions: readonly PlanAction[]) =>
    actions.map(({ name, from_version: from = '', to_version: to = '' }) => `${name} ${from} ${to}`);

  test('of a project is planned as one transaction, whatever the order, and installed in one run', async () => {
    const job = await prepare(host.project, ['right', 'still', 'left']);
    expect(moves(job.actions)).toEqual([
      ...['base 1.0.0 1.1.0', 'fresh  1.0.0', 'left 1.0.0 1.1.0', 'right 1.0.0 1.1.0', 'still 1.0.0 1.1.0'],
    ]);
    const again = await planSet(host.project, ['left', 'right', 'still']);
    expect(again.ok && again.plan.actions).toEqual(job.actions);

    host.registry.mode = 'down';
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: true });
    expect(await host.modules()).toMatchObject({
      ...{ 'node_modules/base': 'base 1.1.0', 'node_modules/left': 'left 1.1.0' },
      ...{ 'node_modules/right': 'right 1.1.0', 'node_modules/core': 'core 1.0.0' },
    });
    await host.npm(['ls', '--all'], host.project); // fails where a requirement is not met
  });

  test('of global packages keeps each complete, so that any order ends in the same tree', async () => {
    const expected = {
      'node_modules/finder': 'finder 1.1.0',
      'node_modules/finder/node_modules/walker': 'walker 1.1.0',
      'node_modules/finder/node_modules/base': 'base 1.1.0',
      'node_modules/walker': 'walker 1.1.0',
      'node_modules/walker/node_modules/base': 'base 1.1.0',
      'node_modules/other': 'other 1.1.0',
    };
    const orders = [
      [
        ['other', 'walker'],
        ['finder', 'walker'],
      ],
      [['walker', 'finder', 'other']],
    ];
    for (const sets of firstOf(1, orders)) {
      await host.rollBack();
      const jobs = [];
      for (const names of sets) jobs.push(await prepare(host.prefix, names));
      host.registry.mode = 'down';
      for (const job of jobs) expect(await install(npmInstaller, job)).toMatchObject({ ok: true });
      expect(await host.globals()).toEqual(expected);
    }
  });

  test('that cannot be resolved names the members in conflict, and is not made smaller', async () => {
    const outcome = await planSet(host.project, ['left', 'core', 'plug', 'still']);
    expect(outcome).toMatchObject({ ok: false, conflicting: targetsOf(host.project, ['core', 'plug']) });
    expect(await planSet(host.project, ['left', 'core', 'still'])).toMatchObject({ ok: true });
  });

  test('with a package that npm does not move names it', async () => {
    const outcome = await planSet(host.project, ['left', 'base', 'unknown']);
    expect(outcome).toMatchObject({
      ok: false,
      reason: 'npm does not update unknown to 1.1.0',
      conflicting: targetsOf(host.project, ['unknown']),
    });
  });

  test.each<
    [string, (given: { project: string; prefix: string }) => { name: string; arch: string }[], RegExp]
  >([
    [
      'two places',
      ({ project, prefix }) => [
        { name: 'left', arch: project },
        { name: 'other', arch: prefix },
      ],
      /another place/,
    ],
    [
      'one package twice',
      ({ project }) => [
        { name: 'left', arch: project },
        { name: 'left', arch: project },
      ],
      /named twice/,
    ],
    ['no updates', () => [], /at least one/],
  ])('of %s is not planned', async (_title, updatesOf, reason) => {
    const updates = updatesOf(host).map((one) => ({ ...one, toVersion: '1.1.0' }));
    expect(await npmDriver.plan(paths, { updates })).toMatchObject({
      ok: false,
      reason: expect.stringMatching(reason),
    });
  });

  describe('attacked', () => {
    /** The files of one plan under an approval of other updates or actions. */
    async function forge(planned: string[], approved: string[], change = (actions: PlanAction[]) => actions) {
      const job = await prepare(host.project, planned);
      const updates = targetsOf(host.project, approved);
      return {
        ...job,
        approval: approvalOfSet({ ecosystem: 'npm', updates, actions: change(job.actions) }),
      };
    }
    const moved = (name: string, arch: string) => (actions: PlanAction[]) =>
      actions.map((one) => (one.name === name ? { ...one, arch } : one));

    test.each<[string, () => ReturnType<typeof forge>, RegExp]>([
      [
        'an action in another place',
        () => forge(['left', 'right'], ['left', 'right'], moved('base', '/srv/other')),
        /not about one place/,
      ],
      [
        'an action of no update',
        () => forge(['left', 'right', 'still'], ['left', 'right']),
        /it would not upgrade still/,
      ],
      [
        'an action left out',
        () =>
          forge(['left', 'right'], ['left', 'right'], (actions) =>
            actions.filter(({ name }) => name !== 'base'),
          ),
        /simulated|differs/,
      ],
    ])('with %s nothing is changed', async (_title, attack, detail) => {
      const before = await host.modules();
      const job = await attack();
      host.registry.mode = 'down';
      const outcome = await install(npmInstaller, job);
      expect(outcome).toMatchObject({
        ...{ ok: false, reason: 'plan_drift' },
        detail: expect.stringMatching(detail),
      });
      expect(await host.modules()).toEqual(before);
    });

    test.each<[string, () => ReturnType<typeof forge>]>([
      ['an update without an action', () => forge(['left', 'right'], ['left', 'right', 'still'])],
      [
        'an update of another place',
        () => forge(['left', 'right'], ['left', 'right'], moved('right', host.prefix)),
      ],
    ])('with %s it is no approval', async (_title, attack) => {
      await expect(attack()).rejects.toThrow('unsound');
    });

    test('with an altered file in the middle of the set nothing is changed', async () => {
      const before = await host.modules();
      const job = await prepare(host.project, ['left', 'right', 'still']);
      const path = join(job.stage, job.actions[2]?.artifact?.filename ?? '');
      await writeFile(
        path,
        (await readFile(path)).map((byte, at) => (at === 20 ? byte ^ 1 : byte)),
      );
      host.registry.mode = 'down';
      expect(await install(npmInstaller, job)).toMatchObject({ ok: false });
      expect(await host.modules()).toEqual(before);
    });
  });

  if (isLong) {
    test('of a project ends in the same versions in any order and overlap', async () => {
      const orders = [
        [['left'], ['right', 'still'], ['left', 'right']],
        [['still', 'left', 'right']],
        [['right', 'left'], ['left'], ['still']],
      ];
      const ends: unknown[] = [];
      for (const sets of orders) {
        await host.rollBack();
        // All are approved before the first is installed: what a sibling brings is done already.
        const jobs = [];
        for (const names of sets) jobs.push(await prepare(host.project, names));
        host.registry.mode = 'down';
        for (const job of jobs) expect(await install(npmInstaller, job)).toMatchObject({ ok: true });
        ends.push([
          await host.modules(),
          JSON.parse(await readFile(join(host.project, 'package-lock.json'), 'utf8')),
          await host.globals(),
        ]);
      }
      for (const end of ends) expect(end).toEqual(ends[0]);
      expect(ends.length).toBe(orders.length);
    });
  }
});
