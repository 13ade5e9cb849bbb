import { existsSync, lstatSync } from 'node:fs';
import { appendFile, chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { isLong } from '@tidegate/testkit/lanes';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import {
  marking,
  NEW_GLOBALS,
  NEW_MODULES,
  NPM_DEMO,
  OLD_GLOBALS,
  OLD_MODULES,
} from '@tidegate/testkit/npm-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { npmDriver } from '../ecosystems/npm/npm.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, installHearing, simulate } from '../testing/install.ts';
import { stageAnew, stageOnce } from '../testing/stage-once.ts';
import { npmInstaller } from './npm.ts';

const missing = npmHostMissing();
if (missing !== null) console.log(`skipped: the installer of npm on a real host: ${missing}`);

describe.skipIf(missing !== null)('the installer of npm on a real host', () => {
  const dir = tmpDir('tidegate-npm-installer-');
  let host: NpmHost;
  let paths: HostPaths;
  let mark: string;

  beforeAll(async () => {
    // Where the owner of the place could leave one.
    await mkdir(join(dir.path, 'marks'));
    await chmod(join(dir.path, 'marks'), 0o777);
    mark = join(dir.path, 'marks', 'mark');
    const offered = NPM_DEMO.offered.map((pkg) => marking(pkg, mark));
    host = await createNpmHost(dir.path, { packages: { ...NPM_DEMO, offered } });
    paths = hostPaths({
      npm_prefix: host.prefix,
      npm_projects: [host.project],
      npm_registry: host.registry.url,
    });
  });
  beforeEach(async () => {
    await rm(mark, { force: true });
    await host.rollBack();
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const staged = stageOnce(dir.path, npmDriver);
  const stagedAnew = stageAnew(dir.path, npmDriver);

  /** Plans, approves and stages an update as the agent would; from then on the registry is gone. */
  async function prepare(
    name: string,
    { arch, stageOf = staged }: { arch: string; stageOf?: typeof staged },
  ) {
    const { stage, actions } = await stageOf(paths, { name, arch, toVersion: '1.1.0' });
    host.registry.mode = 'down';
    host.registry.fetched.length = 0;
    const job = { paths, stage, actions, approval: approve(name, actions) };
    return job;
  }

  const approve = (name: string, actions: readonly PlanAction[]) =>
    approvalOf({ ecosystem: 'npm', name, toVersion: '1.1.0', actions });

  test('the simulation is the approved plan, and neither it nor a global installation asks the registry', async () => {
    const job = await prepare('demo-cli', { arch: host.prefix });
    const bare = job.actions.map(({ artifact, back, ...action }) => action);
    expect(await simulate(npmInstaller, job)).toEqual({ ok: true, actions: bare });
    expect(await host.globals()).toEqual(OLD_GLOBALS);

    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: true });
    expect(await host.globals()).toEqual(NEW_GLOBALS);
    const listed = JSON.parse(await host.npm(['ls', '-g', '--all', '--json', `--prefix=${host.prefix}`]));
    expect(listed.dependencies['demo-cli'].version).toBe('1.1.0');
    expect(host.registry.fetched).toEqual([]);
    expect(await host.modules()).toEqual(OLD_MODULES);
    expect(existsSync(join(host.prefix, 'bin/demo-cli'))).toBe(true);
  });

  test('a project gets the new tree and lockfile as its owner, keeps its package.json, and nothing else changes', async () => {
    const manifest = await readFile(join(host.project, 'package.json'), 'utf8');
    const job = await prepare('@demo/app-kit', { arch: host.project });
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: true });
    expect(await host.modules()).toEqual(NEW_MODULES);
    expect(await readFile(join(host.project, 'package.json'), 'utf8')).toBe(manifest);
    expect((await readdir(host.project)).sort()).toEqual([
      'node_modules',
      'package-lock.json',
      'package.json',
    ]);
    const lock = JSON.parse(await readFile(join(host.project, 'package-lock.json'), 'utf8'));
    expect(lock).toMatchObject({ name: 'story', version: '0.0.1', lockfileVersion: 3 });
    expect(lock.packages['']).toMatchObject({ license: 'MIT', dependencies: { '@demo/app-kit': '^1.0.0' } });
    expect(lock.packages['node_modules/@demo/app-kit']).toMatchObject({
      version: '1.1.0',
      resolved: `${host.registry.url}/@demo/app-kit/-/app-kit-1.1.0.tgz`,
      integrity: expect.stringMatching(/^sha512-/),
    });
    const { uid } = lstatSync(join(host.project, 'node_modules/@demo/app-kit/package.json'));
    expect(uid).toBe(lstatSync(host.project).uid);
    // The registry has the last word: npm itself finds nothing to change.
    host.registry.mode = 'up';
    expect(await host.npm(['ci', '--dry-run'], host.project)).not.toMatch(/(changed|removed) \d/);
    expect(await host.npm(['install', '--dry-run'], host.project)).toContain('up to date');
  });

  test('lifecycle scripts are not run, and the output says which there are', async () => {
    for (const [name, arch] of [
      ['demo-cli', host.prefix],
      ['demo-lib', host.project],
    ] as const) {
      host.registry.mode = 'up';
      // Not when the plan is made either.
      const job = await prepare(name, { arch, stageOf: stagedAnew });
      const outcome = await installHearing(npmInstaller, job);
      expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
      expect(outcome.output).toContain('Install scripts were not run: ');
      expect(outcome.output).toContain(`${name}@1.1.0`);
    }
    expect(existsSync(mark)).toBe(false);
  });

  test('a plan with fewer, more or other actions than npm would take is drift, and nothing starts', async () => {
    for (const [name, arch] of [
      ['demo-cli', host.prefix],
      ['@demo/app-kit', host.project],
    ] as const) {
      host.registry.mode = 'up';
      const job = await prepare(name, { arch });
      const [first, ...rest] = job.actions;
      if (first === undefined) throw new Error('the plan is empty');
      const extra: PlanAction = {
        action: 'remove',
        name: 'pinned',
        arch: host.project,
        from_version: '1.0.0',
      };
      for (const actions of [
        [first],
        [{ ...first, from_version: '0.9.0' }, ...rest],
        [{ ...first, action: 'install' as const }, ...rest],
        ...(arch === host.project ? [[...job.actions, extra]] : []),
      ]) {
        const outcome = await install(npmInstaller, { ...job, approval: approve(name, actions) });
        expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
      }
    }
    expect(await host.globals()).toEqual(OLD_GLOBALS);
    expect(await host.modules()).toEqual(OLD_MODULES);
  });

  test('what another approval has brought is done, and only the rest is run', async () => {
    const job = await prepare('@demo/app-kit', { arch: host.project });
    host.registry.mode = 'up';
    const sibling = await prepare('demo-lib', { arch: host.project });
    expect(await install(npmInstaller, sibling)).toMatchObject({ ok: true });
    const outcome = await installHearing(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.output).toContain('Done before this run: demo-lib 1.1.0');
    expect(await host.modules()).toEqual(NEW_MODULES);
    for (const done of [job, sibling]) {
      const again = await install(npmInstaller, done);
      expect(again).toMatchObject({ ok: true });
      expect(again.output).toContain('Nothing was left to do');
    }
    expect(await host.modules()).toEqual(NEW_MODULES);
  });

  test('a project that changed otherwise since the approval is drift', async () => {
    const job = await prepare('@demo/app-kit', { arch: host.project });
    const file = join(host.project, 'node_modules/mid/package.json');
    const manifest = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...manifest, version: '1.0.5' }));
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect((await host.modules())['node_modules/@demo/app-kit']).toBe('@demo/app-kit 1.0.0');
  });

  test('a staged file of a package other than its action names is refused', async () => {
    const job = await prepare('demo-cli', { arch: host.prefix });
    await copyFile(join(job.stage, 'leaf-2.0.0.tgz'), join(job.stage, 'demo-lib-1.1.0.tgz'));
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(!outcome.ok && outcome.detail).toContain('another package');
    expect(await host.globals()).toEqual(OLD_GLOBALS);
  });

  test('a staged file whose bytes differ from the approval is never unpacked', async () => {
    const job = await prepare('demo-cli', { arch: host.prefix });
    await appendFile(join(job.stage, 'demo-lib-1.1.0.tgz'), Buffer.alloc(1));
    expect(await install(npmInstaller, job)).toMatchObject({ ok: false });
    expect(await host.globals()).toEqual(OLD_GLOBALS);
  });

  test('a place that the administrator did not name is refused', async () => {
    const job = await prepare('demo-lib', { arch: host.project });
    const outcome = await install(npmInstaller, {
      ...job,
      paths: { ...paths, npm: { ...paths.npm, projects: [] } },
    });
    expect(outcome).toMatchObject({ ok: false, detail: expect.stringContaining('not an npm location') });
    expect(await host.modules()).toEqual(OLD_MODULES);
  });

  test('an installation that fails halfway leaves the old tree and lockfile', async () => {
    const job = await prepare('demo-lib', { arch: host.project });
    const lock = await readFile(join(host.project, 'package-lock.json'), 'utf8');
    // What the owner may not replace cannot be swapped either.
    const stranger = join(host.project, 'node_modules/leaf/cli.js');
    await rm(stranger);
    await writeFile(stranger, 'of another user', { mode: 0o600 });
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    expect(await host.modules()).toEqual(OLD_MODULES);
    expect(await readFile(join(host.project, 'package-lock.json'), 'utf8')).toBe(lock);
    expect((await readdir(host.project)).sort()).toEqual([
      'node_modules',
      'package-lock.json',
      'package.json',
    ]);
  });

  test('a global installation that fails halfway is rolled back by npm, and the result says so', async () => {
    const job = await prepare('demo-cli', { arch: host.prefix });
    await chmod(join(host.prefix, 'bin'), 0o555); // the links to commands come last
    const outcome = await install(npmInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    expect(!outcome.ok && outcome.detail).toContain('npm left everything as it was');
    expect(await host.globals()).toEqual(OLD_GLOBALS);
  });

  if (isLong) {
    test('an approval of global packages that is done already succeeds without npm', async () => {
      const job = await prepare('demo-cli', { arch: host.prefix });
      expect(await install(npmInstaller, job)).toMatchObject({ ok: true });
      const again = await install(npmInstaller, job);
      expect(again).toMatchObject({ ok: true });
      expect(again.output).toContain('Nothing was left to do');
      expect(await host.globals()).toEqual(NEW_GLOBALS);
    });
  }
});
