import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import { marking, type NpmSet } from '@tidegate/testkit/npm-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { npmDriver } from '../ecosystems/npm/npm.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, simulate } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import { npmInstaller } from './npm.ts';

const missing = npmHostMissing();
if (missing !== null) console.log(`skipped: packages that npm bundles: ${missing}`);

/** A package that bundles what changes, what stays and what it loses; then one in another. */
const bundling = (mark: string): NpmSet => ({
  global: [
    { name: 'kit', version: '1.0.0' },
    { name: 'open', version: '1.0.0' },
  ],
  project: { kit: '^1.0.0', open: '^1.0.0', plain: '^1.0.0' },
  installed: [
    {
      ...{ name: 'kit', version: '1.0.0', dependencies: { inner: '^1.0.0', same: '1.0.0', lost: '1.0.0' } },
      bundled: [
        { name: 'inner', version: '1.0.0' },
        { name: 'same', version: '1.0.0' },
        { name: 'lost', version: '1.0.0' },
      ],
    },
    { name: 'open', version: '1.0.0' },
    { name: 'plain', version: '1.0.0' },
  ],
  offered: [
    {
      ...{ name: 'kit', version: '1.1.0', dependencies: { inner: '^1.0.0', same: '1.0.0' } },
      bundled: [
        { ...marking({ name: 'inner', version: '1.2.0' }, mark), dependencies: { deep: '^3.0.0' } },
        { name: 'deep', version: '3.0.0', at: 'inner/node_modules/deep' },
        { name: 'same', version: '1.0.0' },
      ],
    },
    { name: 'open', version: '1.1.0', bundled: [{ name: 'unasked', version: '1.0.0' }] },
    { name: 'plain', version: '1.1.0' },
    { name: 'inner', version: '1.2.0' },
  ],
});

describe.skipIf(missing !== null)('packages bundled in the tarball of another', () => {
  const dir = tmpDir('tidegate-npm-bundled-');
  let host: NpmHost;
  let paths: HostPaths;
  let mark: string;

  beforeAll(async () => {
    await mkdir(join(dir.path, 'marks'));
    await chmod(join(dir.path, 'marks'), 0o777);
    mark = join(dir.path, 'marks', 'mark');
    host = await createNpmHost(dir.path, { packages: bundling(mark) });
    const { prefix: npm_prefix, project, registry } = host;
    paths = hostPaths({ npm_prefix, npm_projects: [project], npm_registry: registry.url });
  });
  beforeEach(async () => {
    await rm(mark, { force: true });
    await host.rollBack();
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const planOf = async (arch: string, name = 'kit') => {
    const outcome = await npmDriver.plan(paths, { updates: [{ name, arch, toVersion: '1.1.0' }] });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  };

  const staged = stageOnce(dir.path, npmDriver);

  async function prepare(arch: string, name = 'kit') {
    const { stage, actions } = await staged(paths, { name, arch, toVersion: '1.1.0' });
    host.registry.mode = 'down';
    return { paths, stage, actions, approval: approve(actions, name) };
  }

  const approve = (actions: readonly PlanAction[], name = 'kit') =>
    approvalOf({ ecosystem: 'npm', name, toVersion: '1.1.0', actions });

  test('are in the plan with that file, each at its own version (A1)', async () => {
    for (const [arch, below] of [
      [host.prefix, 'lib/'],
      [host.project, ''],
    ] as const) {
      const actions = await planOf(arch);
      const inside = `${arch}//${below}node_modules/kit/node_modules`;
      const said = actions.map(({ action, name, arch: at, from_version: from, to_version: to }) => [
        ...[action, name, at, from, to],
      ]);
      expect(said).toEqual([
        ['install', 'deep', `${inside}/inner/node_modules/deep`, undefined, '3.0.0'],
        ['upgrade', 'inner', `${inside}/inner`, '1.0.0', '1.2.0'],
        ['upgrade', 'kit', arch, '1.0.0', '1.1.0'],
        ['remove', 'lost', `${inside}/lost`, '1.0.0', undefined],
        ['install', 'same', `${inside}/same`, '1.0.0', '1.0.0'],
      ]);
      const kit = actions.find(({ name }) => name === 'kit');
      for (const action of actions.filter(({ name }) => ['deep', 'inner', 'same'].includes(name))) {
        expect(action).toMatchObject({ source_name: 'kit', source_version: '1.1.0', origin: kit?.origin });
        expect(action.artifact).toEqual(kit?.artifact);
      }
      expect(kit).not.toHaveProperty('source_name');
    }
  });

  test('are fetched once, installed from the approved files alone, and run no script of theirs', async () => {
    for (const [arch, tree] of [
      [host.prefix, () => host.globals()],
      [host.project, () => host.modules()],
    ] as const) {
      host.registry.mode = 'up';
      const job = await prepare(arch);
      expect((await readdir(job.stage)).sort()).toEqual(['kit-1.1.0.tgz']);
      const bare = job.actions.map(({ artifact, source_name, source_version, back, ...action }) => action);
      expect(await simulate(npmInstaller, job)).toEqual({ ok: true, actions: bare });
      const outcome = await install(npmInstaller, job);
      expect(outcome.ok ? null : outcome.detail).toBe(null);
      expect(outcome.output).toContain('inner@1.2.0');
      expect(await tree()).toMatchObject({
        'node_modules/kit': 'kit 1.1.0',
        'node_modules/kit/node_modules/inner': 'inner 1.2.0',
        'node_modules/kit/node_modules/inner/node_modules/deep': 'deep 3.0.0',
        'node_modules/kit/node_modules/same': 'same 1.0.0',
      });
      expect(await tree()).not.toHaveProperty('node_modules/kit/node_modules/lost');
    }
    // npm knows the scripts of other packages from the registry's document, which the executor makes without them; of
    // what is bundled it reads the files. Here --ignore-scripts is all that keeps one from running.
    expect(existsSync(mark)).toBe(false);
  });

  test('that nothing depends on are in the plan too, or nothing is installed', async () => {
    const inside = 'node_modules/open/node_modules/unasked';
    const job = await prepare(host.prefix, 'open');
    expect(job.actions.map(({ name }) => name)).toEqual(['open', 'unasked']);
    expect(await install(npmInstaller, job)).toMatchObject({ ok: true });
    expect((await host.globals())[inside]).toBe('unasked 1.0.0');
    // In a project npm leaves them out of the lockfile.
    host.registry.mode = 'up';
    const project = await prepare(host.project, 'open');
    expect(project.actions.map(({ name }) => name)).toEqual(['open']);
    const outcome = await install(npmInstaller, project);
    expect(outcome).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`${inside} is there as well`),
    });
    expect((await host.modules())['node_modules/open']).toBe('open 1.0.0');
    expect(await host.modules()).not.toHaveProperty(inside);
  });

  test('are left alone by the update of another package', async () => {
    expect((await planOf(host.project, 'plain')).map(({ name }) => name)).toEqual(['plain']);
  });

  test('are drift if the approval lacks one of them', async () => {
    const job = await prepare(host.prefix);
    const actions = job.actions.filter(({ name }) => name !== 'deep');
    const outcome = await install(npmInstaller, { ...job, approval: approve(actions) });
    expect(outcome).toMatchObject({
      ok: false,
      reason: 'plan_drift',
      detail: expect.stringContaining('deep'),
    });
    expect((await host.globals())['node_modules/kit']).toBe('kit 1.0.0');
  });

  test('are refused if the approved file does not contain them', async () => {
    const job = await prepare(host.prefix);
    const actions = job.actions.map((one) => (one.name === 'deep' ? { ...one, to_version: '3.0.1' } : one));
    const outcome = await install(npmInstaller, { ...job, approval: approve(actions) });
    expect(outcome).toMatchObject({ ok: false, detail: expect.stringContaining('does not hold deep@3.0.1') });
  });

  test('do not make the scripts of the project itself run', async () => {
    const path = join(host.project, 'package.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    const script = `echo project >> ${mark}`;
    const scripts = { preinstall: script, install: script, postinstall: script, prepare: script };
    await writeFile(path, JSON.stringify({ ...manifest, scripts }));
    expect(await install(npmInstaller, await prepare(host.project, 'plain'))).toMatchObject({ ok: true });
    expect(existsSync(mark)).toBe(false);
  });

  test('give no plan if the project itself bundles a changed package', async () => {
    const path = join(host.project, 'package.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...manifest, bundleDependencies: ['plain'] }));
    const outcome = await npmDriver.plan(paths, {
      updates: [{ name: 'plain', arch: host.project, toVersion: '1.1.0' }],
    });
    expect(outcome).toMatchObject({ ok: false, reason: expect.stringContaining('bundled by the project') });
  });
});
