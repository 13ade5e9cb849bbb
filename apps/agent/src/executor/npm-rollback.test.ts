import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf } from '@tidegate/protocol/rollbacks';
import { doOnce } from '@tidegate/testkit/do-once';
import { firstOf, isLong } from '@tidegate/testkit/lanes';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import type { NpmSet } from '@tidegate/testkit/npm-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepWayBack } from '../commands/keep-way-back.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { openKept } from '../ecosystems/kept-files.ts';
import { npmDriver } from '../ecosystems/npm/npm.ts';
import { approvalOfSet } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { npmInstaller } from './npm.ts';

const missing = npmHostMissing();
if (missing !== null) console.log(`skipped: rollbacks of npm on a real host: ${missing}`);

const NOW_MS = Date.parse('2026-11-01T12:00:00Z');

const version = (name: string, number: string, dependencies: Record<string, string> = {}) => ({
  ...{ name, version: number, dependencies },
});
/** `cli` and `app` need a newer `lib` and a new `fresh`; `packer` has another package in its file. */
const PACKAGES: NpmSet = {
  global: [version('cli', '1.0.0'), version('packer', '1.0.0')],
  project: { app: '^1.0.0', '@scope/plain': '^1.0.0', packer: '^1.0.0', still: '^1.0.0' },
  installed: [
    version('cli', '1.0.0', { lib: '^1.0.0', still: '^1.0.0' }),
    version('app', '1.0.0', { lib: '^1.0.0', still: '^1.0.0' }),
    ...[version('lib', '1.0.0'), version('still', '1.0.0')],
    version('@scope/plain', '1.0.0'),
    { ...version('packer', '1.0.0', { inner: '1.0.0' }), bundled: [{ name: 'inner', version: '1.0.0' }] },
  ],
  offered: [
    version('cli', '1.1.0', { lib: '^1.1.0', still: '^1.0.0', fresh: '^1.0.0' }),
    version('app', '1.1.0', { lib: '^1.1.0', still: '^1.0.0', fresh: '^1.0.0' }),
    ...[version('lib', '1.1.0'), version('fresh', '1.0.0')],
    ...[version('@scope/plain', '1.1.0'), version('@scope/plain', '1.2.0')],
    { ...version('packer', '1.1.0', { inner: '1.1.0' }), bundled: [{ name: 'inner', version: '1.1.0' }] },
  ],
};

describe.skipIf(missing !== null)('rollbacks of npm on a real host', () => {
  const dir = tmpDir('tidegate-npm-rollback-');
  const kept = join(dir.path, 'kept');
  let host: NpmHost;
  let paths: HostPaths;
  let warnings: string[];

  beforeAll(async () => {
    host = await createNpmHost(dir.path, { packages: PACKAGES });
  });
  beforeEach(async () => {
    await host.rollBack();
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { mode: 0o700 });
    const places = { npm_prefix: host.prefix, npm_projects: [host.project], npm_registry: host.registry.url };
    paths = hostPaths(places, kept);
    warnings = [];
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const warn = (_: string, fields?: object) => warnings.push(JSON.stringify(fields));
  const log = { debug: () => {}, info: () => {}, warn, error: warn };
  const all = async () => ({ project: await host.modules(), global: await host.globals() });
  const lockfile = () => readFileSync(join(host.project, 'package-lock.json'), 'utf8');
  const isGlobal = (name: string) => name === 'cli' || name.endsWith('globally');
  const placeOf = (name: string) => (isGlobal(name) ? host.prefix : host.project);

  async function planOf(name: string, toVersion: string, undo?: readonly PlanAction[]) {
    const updates = [targetOf(name, toVersion)];
    const outcome = await npmDriver.plan(paths, { updates, ...(undo && { undo: inverseOf(undo) }) });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  }

  const targetOf = (name: string, toVersion: string) => ({
    ...{ name: name.split(' ')[0] ?? '', arch: placeOf(name), toVersion },
  });
  const carryOut = (name: string, toVersion: string, actions: readonly PlanAction[]) =>
    carryOutSet([targetOf(name, toVersion)], actions);

  /** Fetches as the agent does, and installs as root does. */
  async function carryOutSet(
    updates: readonly ReturnType<typeof targetOf>[],
    actions: readonly PlanAction[],
  ) {
    const stage = mkdtempSync(join(dir.path, 'stage-'));
    const fetched = await npmDriver.fetch(paths, { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    const means = { drivers: [npmDriver], paths, log, nowMs: () => NOW_MS };
    const wayBack = await keepWayBack(means, { ecosystem: 'npm', actions: [...actions] }, stage);
    const approval = approvalOfSet({ ecosystem: 'npm', updates, actions });
    return { outcome: await install(npmInstaller, { paths, stage, approval }), wayBack };
  }

  const update = doOnce(
    () => [host.prefix, host.project, kept],
    async (name: string, toVersion: string) => {
      const actions = await planOf(name, toVersion);
      const done = await carryOut(name, toVersion, actions);
      expect(done.outcome).toMatchObject({ ok: true });
      return { actions, ...done };
    },
  );

  const wordsOf = (actions: readonly PlanAction[]) => actions.map(({ action, name }) => `${action} ${name}`);

  test('a plan names the files that the place was installed from, as the registry serves them', async () => {
    const sizes = (actions: readonly PlanAction[]) =>
      actions.map(({ name, back }) => [name, back?.size_bytes]);
    const size = (name: string) => host.registry.tarball(name, '1.0.0').length;
    expect(sizes(await planOf('app', '1.1.0'))).toEqual([
      ...[
        ['app', size('app')],
        ['fresh', undefined],
        ['lib', size('lib')],
      ],
    ]);
    expect(sizes(await planOf('packer', '1.1.0'))).toEqual([
      ['inner', size('packer')],
      ['packer', size('packer')],
    ]);
  });

  test.each(firstOf(2, [['packer globally'], ['app'], ['cli'], ['@scope/plain'], ['packer']]))(
    '%s is taken back from kept files while the registry is down, and nothing else changes',
    async (name) => {
      const [before, lock] = [await all(), lockfile()];
      const { actions, wayBack } = await update(name, '1.1.0');
      const replaced = actions.filter(({ from_version: from }) => from !== undefined).length;
      expect(wayBack).toEqual({ kept: replaced, replaced });
      expect(await all()).not.toEqual(before);
      host.registry.mode = 'down';
      const undo = await planOf(name, '1.0.0', actions);
      const { outcome } = await carryOut(name, '1.0.0', undo);
      expect(outcome).toMatchObject({ ok: true });
      expect(await all()).toEqual(before);
      expect(JSON.parse(lockfile())).toEqual(JSON.parse(lock));
      host.registry.mode = 'up';
      await host.npm(['ls', '--all'], host.project); // fails where a requirement is not met
      expect(warnings).toEqual([]);
    },
  );

  test('a lockfile says of development as it did before', async () => {
    host.registry.publish(version('tool', '1.0.0', { part: '^1.0.0' }), version('part', '1.0.0'));
    await host.npm(['install', '--save-dev', 'tool@^1.0.0'], host.project);
    host.registry.publish(version('tool', '1.1.0', { part: '^1.1.0' }), version('part', '1.1.0'));
    const lock = lockfile();
    const { actions } = await update('tool', '1.1.0');
    await carryOut('tool', '1.0.0', await planOf('tool', '1.0.0', actions));
    expect(JSON.parse(lockfile())).toEqual(JSON.parse(lock));
    expect(lock).toContain('"dev": true');
  });

  test('a kept file with one other byte is no plan, and is not handed to root', async () => {
    const { actions } = await update('app', '1.1.0');
    const undo = await planOf('app', '1.0.0', actions);
    const of = { ecosystem: 'npm' as const, name: 'lib', arch: host.project, version: '1.0.0' };
    const path = openKept(paths.kept).find(of)?.path ?? '';
    const bytes = readFileSync(path);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    host.registry.mode = 'down';
    await expect(carryOut('app', '1.0.0', undo)).rejects.toThrow(/503/);
    await expect(planOf('app', '1.0.0', actions)).rejects.toThrow(
      'no way back: this host does not keep the file of lib 1.0.0',
    );
    expect(await host.modules()).toMatchObject({ 'node_modules/app': 'app 1.1.0' });
  });

  test('what somebody else needs meanwhile is not taken away', async () => {
    const { actions } = await update('app', '1.1.0');
    host.registry.publish(version('rider', '1.0.0', { fresh: '^1.0.0' }));
    await host.npm(['install', 'rider@1.0.0'], host.project);
    await expect(planOf('app', '1.0.0', actions)).rejects.toThrow(
      `the host has changed since the installation: npm does not remove fresh:${host.project} from 1.0.0`,
    );
    expect(await host.modules()).toMatchObject({ 'node_modules/fresh': 'fresh 1.0.0' });
  });

  test('of two global packages of one approval, what is undone already is left out', async () => {
    const updates = ['cli', 'packer'].map((name) => ({ name, arch: host.prefix, toVersion: '1.1.0' }));
    const outcome = await npmDriver.plan(paths, { updates });
    const actions = outcome.ok ? outcome.plan.actions : [];
    expect((await carryOutSet(updates, actions)).outcome).toMatchObject({ ok: true });
    await host.npm(['install', '-g', `--prefix=${host.prefix}`, 'packer@1.0.0']);
    const undo = await planOf('cli', '1.0.0', actions);
    expect(wordsOf(undo)).toEqual(['downgrade cli', 'remove fresh', 'downgrade lib', 'install still']);
    expect((await carryOut('cli', '1.0.0', undo)).outcome).toMatchObject({ ok: true });
    expect(await host.globals()).toMatchObject({ 'node_modules/cli': 'cli 1.0.0' });
  });

  test('a change of the place between plan and installation stops the rollback before it begins', async () => {
    const { actions } = await update('app', '1.1.0');
    const undo = await planOf('app', '1.0.0', actions);
    expect(wordsOf(undo)).toEqual(['downgrade app', 'remove fresh', 'downgrade lib']);
    await host.npm(['install', '--save-exact', '@scope/plain@1.2.0', 'lib@1.1.0'], host.project);
    const { outcome } = await carryOut('app', '1.0.0', undo);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(await host.modules()).toMatchObject({ 'node_modules/app': 'app 1.1.0' });
  });

  test('a name that npm would read as an option is refused before npm is started', async () => {
    const { actions } = await update('@scope/plain', '1.1.0');
    const undo = await planOf('@scope/plain', '1.0.0', actions);
    const inside = { source_name: '@scope/plain', source_version: '1.0.0' };
    const strange = undo.map((action) => ({ ...action, name: '--global', ...inside }));
    const { outcome } = await carryOut('@scope/plain', '1.0.0', [...undo, ...strange]);
    expect(!outcome.ok && outcome.detail).toContain('npm does not accept the name or version of --global');
  });

  test('an installation goes on without a way back, and says so', async () => {
    const actions = (await planOf('app', '1.1.0')).map(({ back: _, ...action }) => action);
    const { outcome, wayBack } = await carryOut('app', '1.1.0', actions);
    expect(outcome).toMatchObject({ ok: true });
    expect(wayBack).toEqual({ kept: 0, replaced: 2 });
  });

  if (isLong) {
    test('what was installed before by an approval is kept too, so the next update has a way back', async () => {
      await update('@scope/plain', '1.1.0');
      const next = await planOf('@scope/plain', '1.2.0');
      await carryOut('@scope/plain', '1.2.0', next);
      host.registry.mode = 'down';
      await carryOut('@scope/plain', '1.1.0', await planOf('@scope/plain', '1.1.0', next));
      expect(await host.modules()).toMatchObject({ 'node_modules/@scope/plain': '@scope/plain 1.1.0' });
    });

    test('a place that has moved on is not taken back behind what came later', async () => {
      const { actions } = await update('@scope/plain', '1.1.0');
      await host.npm(['install', '--save-exact', '@scope/plain@1.2.0'], host.project);
      await expect(planOf('@scope/plain', '1.0.0', actions)).rejects.toThrow(
        `npm does not downgrade @scope/plain:${host.project} from 1.1.0 to 1.0.0`,
      );
    });

    test('what is undone already is left out of the plan', async () => {
      const { actions } = await update('app', '1.1.0');
      await host.npm(['install', '--save-exact', 'app@1.0.0'], host.project);
      await expect(planOf('app', '1.0.0', actions)).rejects.toThrow('app 1.0.0 is there already');
    });

    test('without kept files there is no plan, and the reason names them', async () => {
      const { actions } = await update('app', '1.1.0');
      rmSync(paths.kept ?? '', { recursive: true });
      await expect(planOf('app', '1.0.0', actions)).rejects.toThrow(
        'no way back: this host does not keep the file of app 1.0.0, lib 1.0.0',
      );
    });
  }
});
