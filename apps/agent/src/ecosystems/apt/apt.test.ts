import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InventoryReport } from '@tidegate/protocol/agent-api';
import type { Plan, PlanAction } from '@tidegate/protocol/plan';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO, HELD, NEW_DEPENDENCY, REMOVAL } from '@tidegate/testkit/apt-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostPaths, PlanOutcome } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { aptDriver } from './apt.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: apt on a real host: ${missing}`);

describe.skipIf(missing !== null)('apt on a real host', () => {
  const dir = tmpDir('tidegate-apt-test-');
  let host: AptHost;
  let paths: HostPaths;

  beforeAll(async () => {
    const unknown = {
      installed: [{ name: 'security-epoch', version: '1:1.0~rc1-1' }],
      offered: [{ name: 'security-epoch', version: '1:1.0-1' }],
    };
    const stuck = {
      installed: [{ name: 'stuck', version: '1.0-1' }],
      offered: [{ name: 'stuck', version: '2.0-1', depends: 'never-published' }],
    };
    const packages = [DEMO, HELD, NEW_DEPENDENCY, REMOVAL, unknown, stuck];
    host = await createAptHost(dir.path, { packages, transport: 'http' });
    paths = hostPaths({ apt_config: host.aptConf });
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  async function planOf(name: string, toVersion: string): Promise<Plan> {
    const outcome = await aptDriver.plan(paths, { updates: [{ name, arch: 'all', toVersion }] });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan;
  }

  const brief = ({ action, name, arch, from_version, to_version }: PlanAction) =>
    [action, name, arch, from_version, to_version].join(' ');

  test('a scan is complete and matches the schema, with source names, holds and origins', async () => {
    const scan = await aptDriver.scan(paths);
    expect(scan).toMatchObject({ complete: true, reason: null });
    const report = {
      scanned_at: '2026-01-01T00:00:00Z',
      complete: scan.complete,
      packages: scan.packages,
      updates: scan.updates,
    };
    expect(Check(InventoryReport, report)).toBe(true);
    expect(scan.packages.map(({ name }) => name).sort()).toEqual([...(await host.installed()).keys()].sort());
    expect(scan.packages.find(({ name }) => name === 'libdemo')).toEqual({
      ...{ name: 'libdemo', version: '1.0-1', arch: 'all', source_name: 'demo-src', source_version: '1.0-1' },
      ...{ origin: 'Debian:12.9/stable', held: false },
    });
    const updates = scan.updates.map((u) => [u.name, u.available_version, u.security, u.origin]);
    expect(updates.sort()).toEqual([
      ['demo', '1.1-1', false, 'Debian:12.9/stable'],
      ['growing', '2.0-1', false, 'Debian:12.9/stable'],
      ['libdemo', '1.0-1+deb12u1', true, 'Debian-Security:12/stable-security'],
      ['ousting', '1:2.0-1', false, 'Debian:12.9/stable'],
      ['pinned', '2.1-1', false, 'Debian:12.9/stable'], // on hold: it exists
      ['security-epoch', '1:1.0-1', false, 'Debian:12.9/stable'],
      ['stuck', '2.0-1', false, 'Debian:12.9/stable'], // kept back
    ]);
    expect(scan.packages.filter(({ held }) => held).map(({ name }) => name)).toEqual(['pinned']);
    const { size } = await stat(host.debPath('demo', '1.1-1'));
    expect(scan.updates.find(({ name }) => name === 'demo')?.size_bytes).toBe(size);
  });

  test('its lists are as old as the last apt-get update that succeeded', async () => {
    const nowMs = Date.now();
    const fresh = await aptDriver.examineLists(paths, nowMs);
    expect(fresh).toEqual({ ageMs: expect.any(Number), staleness: null });
    const later = await aptDriver.examineLists(paths, nowMs + 9 * 86_400_000);
    expect(later.ageMs).toBe((fresh.ageMs ?? 0) + 9 * 86_400_000);
    expect(later.staleness).toContain('apt-get update last succeeded 9 days ago');
  });

  test('a plan holds the closure with the hash of every file and the source of the candidate', async () => {
    const { actions } = await planOf('demo', '1.1-1');
    expect(actions.map(brief)).toEqual([
      'upgrade demo all 1.0-1 1.1-1',
      'upgrade libdemo all 1.0-1 1.0-1+deb12u1',
    ]);
    expect(actions[0]).toMatchObject({
      source_name: 'demo-src',
      source_version: '1.1-2',
      origin: 'Debian:12.9/stable',
    });
    expect(actions[1]).toMatchObject({
      source_version: '1.0-1+deb12u1',
      origin: 'Debian-Security:12/stable-security',
    });
    for (const { name, to_version: version = '', artifact } of actions) {
      const bytes = await readFile(host.debPath(name, version));
      expect(artifact).toMatchObject({
        sha256: createHash('sha256').update(bytes).digest('hex'),
        size_bytes: bytes.length,
        filename: `${name}_${version}_all.deb`,
      });
    }
  });

  test('plans made in one session equal plans made one by one', async () => {
    const targets = ['demo 1.1-1', 'growing 2.0-1', 'stuck 2.0-1'].map((text) => {
      const [name = '', toVersion = ''] = text.split(' ');
      return { name, toVersion };
    });
    const timeless = (outcome: PlanOutcome) => (outcome.ok ? outcome.plan.actions : outcome.reason);
    const alone: unknown[] = [];
    for (const target of targets) alone.push(timeless(await aptDriver.plan(paths, { updates: [target] })));
    const together = await aptDriver.withPlanning(paths, targets, async (plan) => {
      const outcomes: unknown[] = [];
      for (const target of targets) outcomes.push(timeless(await plan({ updates: [target] })));
      return outcomes;
    });
    expect(together).toEqual(alone);
  });

  test('updates planned together are one transaction; one that is held stops it with the reason', async () => {
    const update = (name: string, toVersion: string) => ({ name, arch: 'all', toVersion });
    const updates = [update('demo', '1.1-1'), update('growing', '2.0-1'), update('ousting', '1:2.0-1')];
    const joint = await aptDriver.plan(paths, { updates });
    const alone = await Promise.all(updates.map(({ name, toVersion }) => planOf(name, toVersion)));
    expect(joint.ok && joint.plan.actions.map(brief).sort()).toEqual(
      alone.flatMap(({ actions }) => actions.map(brief)).sort(),
    );
    const held = await aptDriver.plan(paths, { updates: [...updates, update('pinned', '2.1-1')] });
    expect(!held.ok && held.reason).toBe(
      'pinned is on hold on this host; to release it: apt-mark unhold pinned',
    );
  });

  test('a session plans what is there now when packages change meanwhile', async () => {
    const updates = [{ name: 'ousting', toVersion: '1:2.0-1' }];
    const removed = (outcome: PlanOutcome) =>
      outcome.ok && outcome.plan.actions.find(({ action }) => action === 'remove')?.from_version;
    await aptDriver.withPlanning(paths, updates, async (plan) => {
      expect(removed(await plan({ updates }))).toBe('1.0-1');
      const status = join(host.adminDir, 'status');
      const before = await readFile(status, 'utf8');
      await writeFile(status, before.replace(/(Package: ousted\n(?:.+\n)*?Version: )1.0-1/, '$11.0-2'));
      const changed = removed(await plan({ updates }));
      await writeFile(status, before);
      expect(changed).toBe('1.0-2');
    });
  });

  test('a plan is complete although apt has cached one of its files', async () => {
    const cached = join(host.root, 'var/cache/apt/archives/libdemo_1.0-1+deb12u1_all.deb');
    await writeFile(cached, await readFile(host.debPath('libdemo', '1.0-1+deb12u1')));
    expect((await planOf('demo', '1.1-1')).actions.every(({ artifact }) => artifact?.sha256)).toBe(true);
    await rm(cached);
  });

  test('a plan has SHA-256 even where the host is set to weaker hashes', async () => {
    const conf = await readFile(host.aptConf, 'utf8');
    await writeFile(host.aptConf, `${conf}\nAcquire::ForceHash "MD5Sum";\n`);
    const outcome = await aptDriver.plan(paths, { updates: [{ name: 'demo', toVersion: '1.1-1' }] });
    await writeFile(host.aptConf, conf);
    expect(outcome.ok).toBe(true);
  });

  test.each([
    ['growing', '2.0-1', ['upgrade growing all 1.0-1 2.0-1', 'install libgrowing all  2.0-1']],
    ['ousting', '1:2.0-1', ['remove ousted all 1.0-1 ', 'upgrade ousting all 1:1.0-1 1:2.0-1']],
    ['security-epoch', '1:1.0-1', ['upgrade security-epoch all 1:1.0~rc1-1 1:1.0-1']],
  ])('the plan of %s %s says all that it brings and takes', async (name, version, expected) => {
    expect((await planOf(name, version)).actions.map(brief)).toEqual(expected);
  });

  test.each([
    ['a held package', 'pinned', '2.1-1', 'is on hold on this host'],
    ['one whose needs nobody offers', 'stuck', '2.0-1', 'never-published'],
    ['a version that nobody offers', 'demo', '9.9', '9.9'],
    ['an absent package', 'libgrowing', '2.0-1', 'does not update'],
    ['what is installed already', 'demo', '1.0-1', 'does not update'],
    ['an option', '--allow-unauthenticated', '1', 'apt does not accept'],
  ])('no plan is made for %s, and the reason is given', async (_, name, toVersion, reason) => {
    const outcome = await aptDriver.plan(paths, { updates: [{ name, toVersion }] });
    expect(!outcome.ok && outcome.reason).toContain(reason);
  });

  test('a fetch downloads exactly the files of the plan, owned by the requesting user', async () => {
    const directory = join(dir.path, 'fetched');
    await mkdir(directory, { mode: 0o700 });
    const { actions } = await planOf('ousting', '1:2.0-1');
    expect(await aptDriver.fetch(paths, { actions, directory })).toEqual({ ok: true });
    expect(await readdir(directory)).toEqual(['ousting_1%3a2.0-1_all.deb']);
    for (const path of [directory, join(directory, 'ousting_1%3a2.0-1_all.deb')]) {
      expect((await stat(path)).uid).toBe(process.getuid?.());
    }
    expect(host.fetched.some((path) => path.includes('ousting_2.0-1'))).toBe(true);
  });

  test('a plan whose hashes differ from the indexes is refused before any download (A4)', async () => {
    const directory = join(dir.path, 'refused');
    await mkdir(directory);
    const { actions } = await planOf('demo', '1.1-1');
    const before = host.fetched.length;
    const forged = actions.map((action) =>
      action.name === 'demo' && action.artifact
        ? { ...action, artifact: { ...action.artifact, sha256: 'ab'.repeat(32) } }
        : action,
    );
    const outcome = await aptDriver.fetch(paths, { actions: forged, directory });
    expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo' });
    expect(host.fetched.slice(before).filter((path) => path.endsWith('.deb'))).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
  });

  test('a file changed in the archive at equal size is rejected (A4)', async () => {
    const directory = join(dir.path, 'tampered');
    await mkdir(directory);
    const { actions } = await planOf('growing', '2.0-1');
    const deb = host.debPath('libgrowing', '2.0-1');
    const original = await readFile(deb);
    const tampered = Buffer.from(original);
    tampered[tampered.length - 20] = (tampered[tampered.length - 20] ?? 0) ^ 1;
    await writeFile(deb, tampered);
    const outcome = await aptDriver.fetch(paths, { actions, directory });
    await writeFile(deb, original);
    expect(outcome.ok).toBe(false);
  });

  test('missing lists, a stopped dpkg and a broken package make a scan incomplete, never empty and complete', async () => {
    const lists = join(host.root, 'var/lib/apt/lists');
    await rename(lists, `${lists}.away`);
    await mkdir(join(lists, 'partial'), { recursive: true });
    const unlisted = await aptDriver.scan(paths);
    await rm(lists, { recursive: true });
    await rename(`${lists}.away`, lists);
    expect(unlisted).toMatchObject({ complete: false, updates: [] });
    expect(unlisted.reason).toContain('run apt-get update');

    await writeFile(join(host.adminDir, 'updates/0001'), '');
    const stopped = await aptDriver.scan(paths);
    await rm(join(host.adminDir, 'updates/0001'));
    expect(stopped).toMatchObject({ complete: false });
    expect(stopped.reason).toContain('interrupted');

    const status = await readFile(join(host.adminDir, 'status'), 'utf8');
    await writeFile(
      join(host.adminDir, 'status'),
      status.replace('install ok installed', 'install ok half-configured'),
    );
    const broken = await aptDriver.scan(paths);
    await writeFile(join(host.adminDir, 'status'), status);
    expect(broken).toMatchObject({ complete: false });
    expect(broken.reason).toContain('half-configured');

    const lost = await aptDriver.scan(hostPaths({ apt_config: join(dir.path, 'nowhere.conf') }));
    expect(lost).toMatchObject({ complete: false, packages: [] }); // in particular, not the packages of this machine
  });
});
