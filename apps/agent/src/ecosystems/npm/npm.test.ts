import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { doOnce } from '@tidegate/testkit/do-once';
import { createNpmHost, type NpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { npmDriver } from './npm.ts';

const missing = npmHostMissing();
if (missing !== null) console.log(`skipped: the driver of npm on a real host: ${missing}`);

describe.skipIf(missing !== null)('the driver of npm on a real host', () => {
  const dir = tmpDir('tidegate-npm-driver-');
  let host: NpmHost;
  let paths: HostPaths;

  beforeAll(async () => {
    host = await createNpmHost(dir.path);
    paths = hostPaths({
      npm_prefix: host.prefix,
      npm_projects: [host.project],
      npm_registry: `${host.registry.url}/`,
    });
  });
  beforeEach(() => {
    host.registry.mode = 'up';
    host.registry.fetched.length = 0;
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const planOf = async (target: { name: string; arch?: string; toVersion: string }) => {
    const outcome = await npmDriver.plan(paths, { updates: [target] });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan;
  };
  /** For tests of what is done with a plan. */
  const planOnce = doOnce(() => [], planOf);

  test('is present where npm and its node are', async () => {
    expect(await npmDriver.present(paths)).toBe(true);
  });

  test('a scan lists every package of the tree with its place, and says what is newer', async () => {
    const scan = await npmDriver.scan(paths);
    expect(scan.reason).toBe(null);
    expect(scan.complete).toBe(true);
    const { prefix, project } = host;
    const origin = `${host.registry.url}/`;
    expect(scan.packages.map(({ name, version, arch, origin: from }) => [name, version, arch, from])).toEqual(
      expect.arrayContaining([
        ['demo-cli', '1.0.0', prefix, undefined],
        ['demo-lib', '1.0.0', `${prefix}//lib/node_modules/demo-cli/node_modules/demo-lib`, undefined],
        ['@demo/app-kit', '1.0.0', project, origin],
        ['demo-lib', '1.0.0', project, origin],
      ]),
    );
    expect(scan.packages).toHaveLength(9);
    expect(scan.packages.filter(({ held }) => held).map(({ name }) => name)).toEqual(['pinned']);
    // Neither the prerelease nor a version beyond the declared range.
    const newest = { offers: ['series', 'newest'], candidates: ['1.1.0'], origin };
    expect(scan.updates.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      {
        name: '@demo/app-kit',
        current_version: '1.0.0',
        available_version: '1.1.0',
        arch: project,
        ...newest,
      },
      { name: 'demo-cli', current_version: '1.0.0', available_version: '1.1.0', arch: prefix, ...newest },
      { name: 'demo-lib', current_version: '1.0.0', available_version: '1.1.0', arch: project, ...newest },
    ]);
  });

  test.each(['down', 'garbage'] as const)(
    'a registry that is %s makes the scan incomplete, not empty',
    async (mode) => {
      host.registry.mode = mode;
      const scan = await npmDriver.scan(paths);
      expect(scan).toMatchObject({ complete: false, updates: [] });
      expect(scan.reason).toMatch(/npm/);
      expect(scan.packages).toHaveLength(9);
    },
  );

  test('the plan of a global package holds its whole closure, with size and hash of every real file', async () => {
    const { actions } = await planOf({ name: 'demo-cli', arch: host.prefix, toVersion: '1.1.0' });
    const inside = `${host.prefix}//lib/node_modules/demo-cli/node_modules`;
    expect(movesOf(actions)).toEqual([
      ['upgrade', 'demo-cli', host.prefix, '1.0.0', '1.1.0'],
      ['upgrade', 'demo-lib', `${inside}/demo-lib`, '1.0.0', '1.1.0'],
      ['install', 'leaf', `${inside}/demo-lib/node_modules/leaf`, undefined, '1.0.0'],
      ['upgrade', 'leaf', `${inside}/leaf`, '1.0.0', '2.0.0'],
    ]);
    for (const { name, to_version: version = '', artifact, origin } of actions) {
      const bytes = host.registry.tarball(name, version);
      expect(artifact).toMatchObject({ size_bytes: bytes.length, sha512: sha512(bytes) });
      expect(origin).toBe(`${host.registry.url}/`);
    }
    expect(new Set(actions.map(({ artifact }) => artifact?.filename)).size).toBe(actions.length);
  });

  test('the plan of a project holds only what changes, and leaves the folder as it was', async () => {
    const before = await snapshot(host.project);
    const { actions } = await planOf({ name: '@demo/app-kit', arch: host.project, toVersion: '1.1.0' });
    expect(movesOf(actions)).toEqual([
      ['upgrade', '@demo/app-kit', host.project, '1.0.0', '1.1.0'],
      ['upgrade', 'demo-lib', host.project, '1.0.0', '1.1.0'],
      [
        'install',
        'leaf',
        `${host.project}//node_modules/@demo/app-kit/node_modules/leaf`,
        undefined,
        '2.0.0',
      ],
      ['upgrade', 'mid', host.project, '1.0.0', '1.1.0'],
    ]);
    expect(await snapshot(host.project)).toEqual(before);
  });

  test('fetching brings exactly the files of the plan', async () => {
    const { actions } = await planOnce({ name: 'demo-cli', arch: host.prefix, toVersion: '1.1.0' });
    const directory = await mkdtemp(join(dir.path, 'fetch-'));
    expect(await npmDriver.fetch(paths, { actions, directory })).toEqual({ ok: true });
    expect((await readdir(directory)).sort()).toEqual(
      actions.map(({ artifact }) => artifact?.filename).sort(),
    );
    for (const { artifact } of actions) {
      expect(sha512(await readFile(join(directory, artifact?.filename ?? '')))).toBe(artifact?.sha512);
    }
  });

  test('one file name for two artifacts is a mismatch, and nothing is fetched', async () => {
    const { actions } = await planOnce({ name: 'demo-lib', arch: host.project, toVersion: '1.1.0' });
    const [first] = actions;
    if (first?.artifact === undefined) throw new Error('the plan brings nothing');
    const directory = await mkdtemp(join(dir.path, 'fetch-'));
    const other = { ...first, name: 'other', artifact: { ...first.artifact, sha512: 'b'.repeat(128) } };
    const outcome = await npmDriver.fetch(paths, { actions: [...actions, other], directory });
    expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: other' });
    expect(await readdir(directory)).toEqual([]);
  });

  test('a tarball with one byte changed at equal size is a mismatch, and is not left behind', async () => {
    const { actions } = await planOnce({ name: 'demo-cli', arch: host.prefix, toVersion: '1.1.0' });
    host.registry.mode = 'tamper';
    const directory = await mkdtemp(join(dir.path, 'fetch-'));
    const outcome = await npmDriver.fetch(paths, { actions, directory });
    expect(outcome).toMatchObject({ ok: false, reason: expect.stringMatching(/^artifact_mismatch: /) });
    expect(await readdir(directory)).toEqual([]);
  });

  test('no plan is made of files that contradict the registry', async () => {
    host.registry.mode = 'tamper';
    const outcome = await npmDriver.plan(paths, {
      updates: [{ name: 'demo-cli', arch: host.prefix, toVersion: '1.1.0' }],
    });
    expect(outcome).toMatchObject({ ok: false });
  });

  test.each<[string, { name?: string; arch?: string; toVersion?: string }]>([
    ['a place that is not kept here', { arch: '/etc' }],
    ['a nested package', { arch: '$prefix//lib/node_modules/demo-cli/node_modules/demo-lib' }],
    ['a range', { toVersion: '^1.0.0' }],
    ['an address', { name: 'git+https://example.test/x' }],
    ['an option', { name: '--force' }],
    ['a version that was never published', { toVersion: '9.9.9' }],
  ])('no plan is made for %s', async (_what, wrong) => {
    const target = { name: 'demo-cli', toVersion: '1.1.0', arch: '$prefix', ...wrong };
    const outcome = await npmDriver.plan(paths, {
      updates: [
        {
          ...target,
          arch: target.arch.replace('$prefix', host.prefix),
        },
      ],
    });
    expect(outcome).toMatchObject({ ok: false });
  });

  test('no plan is made without a place', async () => {
    expect(
      await npmDriver.plan(paths, { updates: [{ name: 'demo-cli', toVersion: '1.1.0' }] }),
    ).toMatchObject({
      ok: false,
    });
  });

  test('a project that is not as its lockfile says makes the scan incomplete, and no plan is made of it', async () => {
    const path = join(host.project, 'node_modules/leaf/package.json');
    const before = await readFile(path, 'utf8');
    await writeFile(path, before.replace('1.0.0', '1.0.7'));
    const scan = await npmDriver.scan(paths);
    const outcome = await npmDriver.plan(paths, {
      updates: [
        {
          name: '@demo/app-kit',
          arch: host.project,
          toVersion: '1.1.0',
        },
      ],
    });
    await writeFile(path, before);
    expect(scan).toMatchObject({
      complete: false,
      reason: expect.stringContaining('leaf 1.0.7, not leaf 1.0.0'),
    });
    expect(outcome).toMatchObject({ ok: false, reason: expect.stringContaining('leaf 1.0.7') });
  });

  test("a project's own npmrc and variables are not asked", async () => {
    const path = join(host.project, '.npmrc');
    await writeFile(path, 'registry=http://127.0.0.1:1/\nomit-lockfile-registry-resolved=true\n');
    process.env.NPM_CONFIG_REGISTRY = 'http://127.0.0.1:1/';
    const scan = await npmDriver.scan(paths);
    const { actions } = await planOf({ name: 'demo-lib', arch: host.project, toVersion: '1.1.0' });
    delete process.env.NPM_CONFIG_REGISTRY;
    await rm(path);
    expect(scan.reason).toBe(null);
    expect(actions.every(({ artifact }) => artifact?.url.startsWith(host.registry.url))).toBe(true);
  });

  test('a lockfile that cannot be read makes the scan incomplete', async () => {
    const path = join(host.project, 'package-lock.json');
    const before = await readFile(path, 'utf8');
    await writeFile(path, before.slice(0, 40));
    const scan = await npmDriver.scan(paths);
    await writeFile(path, before);
    expect(scan).toMatchObject({ complete: false, reason: expect.stringContaining('lockfile') });
  });

  test('the newest of the series is offered beside the newest of all, with what lies between', async () => {
    const versions = ['1.0.1', '1.2.0', '2.0.0', '3.0.0', '3.1.0-rc.1'];
    host.registry.publish(...versions.map((version) => ({ name: 'demo-cli', version })));
    host.registry.publish(...['1.0.5', '2.0.1'].map((version) => ({ name: 'demo-lib', version })));
    const scan = await npmDriver.scan(paths);
    expect(scan.reason).toBe(null);
    const { prefix, project } = host;
    const origin = `${host.registry.url}/`;
    const of = (name: string) => scan.updates.filter((update) => update.name === name);
    const demoCli = { name: 'demo-cli', current_version: '1.0.0', arch: prefix, origin };
    expect(of('demo-cli')).toEqual([
      { ...demoCli, available_version: '1.2.0', offers: ['series'] },
      {
        ...{ ...demoCli, available_version: '3.0.0', offers: ['newest'] },
        candidates: ['1.0.1', '1.1.0', '1.2.0', '2.0.0', '3.0.0'],
      },
    ]);
    // A project gets nothing beyond the range that it declares.
    expect(of('demo-lib')).toEqual([
      {
        ...{ name: 'demo-lib', current_version: '1.0.0', available_version: '1.1.0', arch: project, origin },
        ...{ offers: ['series', 'newest'], candidates: ['1.0.5', '1.1.0'] },
      },
    ]);
    // Both can be planned.
    for (const toVersion of ['1.2.0', '3.0.0']) {
      const { actions } = await planOf({ name: 'demo-cli', arch: prefix, toVersion });
      expect(movesOf(actions)[0]).toEqual(['upgrade', 'demo-cli', prefix, '1.0.0', toVersion]);
    }
  });

  test('a version whose engines exclude the Node of this host is not offered', async () => {
    const demoCli = (version: string, node: string) => ({ name: 'demo-cli', version, engines: { node } });
    host.registry.publish(demoCli('1.3.0', '<1'), demoCli('3.0.1', '>=1'), demoCli('4.0.0', '>=999'));
    const { updates, reason } = await npmDriver.scan(paths);
    expect(reason).toBe(null);
    const offered = updates.filter(({ name }) => name === 'demo-cli');
    expect(offered.map(({ available_version: to, offers }) => [to, offers])).toEqual([
      ['1.2.0', ['series']],
      ['3.0.1', ['newest']],
    ]);
    expect(offered[1]?.candidates).toEqual(['1.0.1', '1.1.0', '1.2.0', '2.0.0', '3.0.0', '3.0.1']);
  });
});

/** Each action with its package and place. */
function movesOf(actions: readonly PlanAction[]) {
  return actions.map(({ action, name, arch, from_version: from, to_version: to }) => [
    action,
    name,
    arch,
    from,
    to,
  ]);
}

function sha512(bytes: Uint8Array): string {
  return createHash('sha512').update(bytes).digest('hex');
}

async function snapshot(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const read = files.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    return `${path} ${sha512(await readFile(path))}`;
  });
  return (await Promise.all(read)).sort();
}
