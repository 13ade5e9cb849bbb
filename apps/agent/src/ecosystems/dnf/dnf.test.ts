import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InventoryReport } from '@tidegate/protocol/agent-api';
import type { Plan, PlanAction } from '@tidegate/protocol/plan';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import {
  DNF_DEMO,
  DNF_HELD,
  DNF_NEW_DEPENDENCY,
  DNF_OBSOLETING,
  DNF_REMOVAL,
  DNF_SIDE_BY_SIDE,
  DNF_STUCK,
  type DnfSet,
} from '@tidegate/testkit/dnf-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ProgramResult } from '../../platform/run-program.ts';
import { downloadIdentity } from '../downloads.ts';
import type { HostPaths, PlanOutcome, PlanUpdates } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { openKept } from '../kept-files.ts';
import { AgesAnswer, parseAnswer } from './answers.ts';
import { dnfDriver } from './dnf.ts';
import { judgeMetadata } from './metadata-age.ts';
import { findDnfPlaces } from './places.ts';
import { createDnfPlanner } from './plan.ts';
import { withDnfSession } from './session.ts';

const missing = dnfHostMissing();
if (missing !== null) console.log(`skipped: dnf on a real host: ${missing}`);

/** A subpackage with an epoch that its source does not have, as mod_ssl of httpd. */
const SUBPACKAGE: DnfSet = {
  installed: [
    { name: 'server', version: '2.4', release: '1' },
    { name: 'server-module', epoch: 1, version: '2.4', release: '1', source: 'server' },
  ],
  offered: [
    { name: 'server', version: '2.5', release: '1' },
    { name: 'server-module', epoch: 1, version: '2.5', release: '1', source: 'server' },
  ],
};

const CONFIGURED: DnfSet = {
  installed: [{ name: 'tuned', version: '1.0', release: '1', config: { 'tuned.conf': 'a=1' } }],
  offered: [{ name: 'tuned', version: '1.0', release: '2', config: { 'tuned.conf': 'a=2' } }],
};

describe.skipIf(missing !== null)('dnf on a real host', () => {
  const dir = tmpDir('tidegate-dnf-test-');
  let host: DnfHost;
  let paths: HostPaths;

  beforeAll(async () => {
    const sets = [DNF_DEMO, DNF_HELD, DNF_NEW_DEPENDENCY, DNF_REMOVAL, DNF_OBSOLETING, DNF_STUCK];
    const packages = [...sets, DNF_SIDE_BY_SIDE, SUBPACKAGE, CONFIGURED];
    host = await createDnfHost(dir.path, { packages, transport: 'http' });
    await copyFile(host.signer.keyFile, join(host.repositories.folder, 'key'));
    paths = hostPaths({ dnf_root: host.root });
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  async function planOf(name: string, toVersion: string): Promise<Plan> {
    const outcome = await dnfDriver.plan(paths, { updates: [{ name, arch: 'noarch', toVersion }] });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan;
  }

  const rpm = (...args: string[]) =>
    runTool('rpm', ['--root', host.root, '--dbpath', '/var/lib/rpm', ...args]);

  const brief = ({ action, name, arch, from_version, to_version }: PlanAction) =>
    [action, name, arch, from_version, to_version].join(' ');

  test('a scan is complete and matches the schema, with epochs, source names and repositories', async () => {
    const scan = await dnfDriver.scan(paths);
    expect(scan).toMatchObject({ complete: true, reason: null });
    const { reason: _, ...said } = scan;
    const { packages, updates } = said;
    const report = { scanned_at: '2026-01-01T00:00:00Z', ...said };
    expect(Check(InventoryReport, report)).toBe(true);
    expect(packages.map(({ name, version }) => `${name} ${version}`).sort()).toEqual(await host.installed());
    expect(packages.find(({ name }) => name === 'demo')).toEqual({
      ...{ name: 'demo', version: '1:1.0-1.el9', arch: 'noarch', held: false, origin: 'baseos' },
      ...{ source_name: 'demo-src', source_version: '1:1.0-1.el9' },
    });
    const offers = updates.map((u) => [u.name, u.current_version, u.available_version, u.security, u.origin]);
    expect(offers.sort()).toEqual([
      ['demo', '1:1.0-1.el9', '1:1.1-1.el9', false, 'baseos'],
      ['growing', '0:1.0-1', '0:2.0-1', false, 'baseos'],
      ['heir', '0:1.0-1', '0:2.0-1', false, 'baseos'],
      ['libdemo', '0:1.0-1.el9', '0:1.0-2.el9', true, 'appstream'],
      ['ousting', '0:1.0-1', '0:2.0-1', false, 'baseos'],
      ['parallel', '0:3.0-1', '0:4.0-1', false, 'baseos'],
      ['pinned', '0:2.0-1', '0:2.1-1', false, 'baseos'],
      ['server', '0:2.4-1', '0:2.5-1', false, 'baseos'],
      ['server-module', '1:2.4-1', '1:2.5-1', false, 'baseos'],
      ['stuck', '0:1.0-1', '0:2.0-1', false, 'baseos'],
      ['tuned', '0:1.0-1', '0:1.0-2', false, 'baseos'],
    ]);
    expect(scan.condition).toEqual({
      ...{ trouble: null, broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 },
    });
    const { size } = await stat(host.rpmPath('demo', '1:1.1-1.el9'));
    expect(updates.find(({ name }) => name === 'demo')?.size_bytes).toBe(size);
  });

  test('the source has the epoch of the package with its name, not that of a subpackage', async () => {
    const { packages } = await dnfDriver.scan(paths);
    expect(packages.filter(({ source_name }) => source_name === 'server')).toMatchObject([
      { name: 'server', version: '0:2.4-1', source_version: '0:2.4-1' },
      { name: 'server-module', version: '1:2.4-1', source_version: '0:2.4-1' },
    ]);
    expect((await planOf('server-module', '1:2.5-1')).actions).toMatchObject([
      { name: 'server-module', to_version: '1:2.5-1', source_name: 'server', source_version: '0:2.5-1' },
    ]);
  });

  test('a configuration file that rpm left beside a changed one is listed', async () => {
    await writeFile(join(host.root, 'etc/tuned.conf'), 'a=mine\n');
    await rpm('-U', host.rpmPath('tuned', '0:1.0-2'));
    const { condition } = await dnfDriver.scan(paths);
    expect(condition?.left_files).toEqual([{ path: '/etc/tuned.conf.rpmnew' }]);
  });

  test('a package that an interrupted transaction left in two versions is named, with what to do', async () => {
    await rpm('-i', '--justdb', '--force', '--nodeps', '--noscripts', host.rpmPath('growing', '0:2.0-1'));
    const { complete, condition } = await dnfDriver.scan(paths);
    const detail =
      'installed in two versions: growing; as root: run `dnf check`, then `dnf remove --duplicates`';
    expect({ complete, trouble: condition?.trouble }).toEqual({
      ...{ complete: false, trouble: { reason: 'transaction_interrupted', detail } },
    });
    expect(condition?.broken.map(({ version }) => version).sort()).toEqual(['0:1.0-1', '0:2.0-1']);
    expect(await dnfDriver.findTrouble?.(paths)).toEqual(condition?.trouble);
  });

  test('neither a scan nor a plan changes anything on the host', async () => {
    const look = () => runTool('find', [host.root, '-printf', '%p %s %T@ %u %m\\n']);
    const [before, temporary] = [await look(), (await readdir('/var/tmp')).sort()];
    await dnfDriver.scan(paths);
    await planOf('demo', '1:1.1-1.el9');
    expect(await look()).toBe(before);
    expect((await readdir('/var/tmp')).sort()).toEqual(temporary);
  });

  test('a plan holds the closure with the hash of every file and the source of the candidate', async () => {
    const { actions } = await planOf('demo', '1:1.1-1.el9');
    expect(actions.map(brief)).toEqual([
      'upgrade demo noarch 1:1.0-1.el9 1:1.1-1.el9',
      'upgrade libdemo noarch 0:1.0-1.el9 0:1.0-2.el9',
    ]);
    expect(actions[0]).toMatchObject({
      source_name: 'demo-src',
      source_version: '1:1.1-1.el9',
      origin: 'baseos',
    });
    expect(actions[1]).toMatchObject({ source_version: '0:1.0-2.el9', origin: 'appstream' });
    for (const { name, to_version: version = '', artifact } of actions) {
      const path = host.rpmPath(name, version);
      const bytes = await readFile(path);
      expect(artifact).toMatchObject({
        sha256: createHash('sha256').update(bytes).digest('hex'),
        size_bytes: bytes.length,
        filename: path.split('/').at(-1),
      });
      expect(artifact?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/(baseos|appstream)\/.*\.rpm$/);
    }
  });

  test.each([
    ['growing', '0:2.0-1', ['upgrade growing noarch 0:1.0-1 0:2.0-1', 'install libgrowing noarch  0:2.0-1']],
    ['ousting', '0:2.0-1', ['remove ousted noarch 0:1.0-1 ', 'upgrade ousting noarch 0:1.0-1 0:2.0-1']],
    ['heir', '0:2.0-1', ['remove elder noarch 0:1.0-1 ', 'upgrade heir noarch 0:1.0-1 0:2.0-1']],
    ['parallel', '0:4.0-1', ['upgrade parallel noarch 0:1.0-1 0:4.0-1']], // the oldest of three makes room
  ])('the plan of %s %s says all that it brings and takes', async (name, version, expected) => {
    expect((await planOf(name, version)).actions.map(brief)).toEqual(expected);
  });

  test('a downgrade is planned as one', async () => {
    await runTool('rpm', [
      '--root',
      host.root,
      '--dbpath',
      '/var/lib/rpm',
      '-U',
      host.rpmPath('libdemo', '0:1.0-2.el9'),
    ]);
    const { actions } = await planOf('libdemo', '0:1.0-1.el9');
    expect(actions.map(brief)).toEqual(['downgrade libdemo noarch 0:1.0-2.el9 0:1.0-1.el9']);
  });

  describe('in one session', () => {
    const targets = [
      ...['demo 1:1.1-1.el9', 'growing 0:2.0-1', 'stuck 0:2.0-1', 'ousting 0:2.0-1', 'heir 0:2.0-1'],
      ...['server 0:2.5-1', 'parallel 0:4.0-1'],
    ].map((text) => {
      const [name = '', toVersion = ''] = text.split(' ');
      return { name, toVersion };
    });
    const timeless = (outcome: PlanOutcome) => (outcome.ok ? outcome.plan.actions : outcome.reason);

    /** Plans in a session that counts how often dnf is started. */
    async function inSession(work: (plan: PlanUpdates, starts: () => number) => Promise<void>) {
      const places = await findDnfPlaces(paths);
      if (!places.ok) throw new Error(places.reason);
      await withDnfSession(places.value, await downloadIdentity(null), async (session) => {
        let starts = 0;
        const ask: typeof session.ask = (...asked) => {
          starts += 1;
          return session.ask(...asked);
        };
        await work(
          createDnfPlanner({ session: { ...session, ask }, kept: openKept(null) }, targets),
          () => starts,
        );
      });
    }

    test('many plans take one start of dnf, and equal plans made one by one', async () => {
      const alone: unknown[] = [];
      for (const target of targets) alone.push(timeless(await dnfDriver.plan(paths, { updates: [target] })));
      await inSession(async (plan, starts) => {
        const together: unknown[] = [];
        for (const target of targets) together.push(timeless(await plan({ updates: [target] })));
        expect(together).toEqual(alone);
        expect(starts()).toBe(1);
      });
    });

    test('a plan is made again when it is asked for again, and when packages have changed', async () => {
      const [demo, growing] = targets.map((target) => ({ updates: [target] }));
      if (!demo || !growing) throw new Error('there are two');
      await inSession(async (plan, starts) => {
        expect(await plan(demo)).toMatchObject({ ok: true });
        expect(await plan(demo)).toMatchObject({ ok: true });
        expect(starts()).toBe(2);
        const files = ['growing 0:2.0-1', 'libgrowing 0:2.0-1'].map((text) => {
          const [name = '', version = ''] = text.split(' ');
          return host.rpmPath(name, version);
        });
        await rpm('-U', ...files);
        expect(await plan(growing)).toMatchObject({
          ok: false,
          reason: 'growing 0:2.0-1 is installed already',
        });
      });
    });
  });

  test('updates planned together are one transaction; one that cannot be brought stops it', async () => {
    const updates = [
      { name: 'demo', toVersion: '1:1.1-1.el9' },
      { name: 'growing', toVersion: '0:2.0-1' },
    ];
    const joint = await dnfDriver.plan(paths, { updates });
    const alone: string[] = [];
    for (const { name, toVersion } of updates)
      alone.push(...(await planOf(name, toVersion)).actions.map(brief));
    expect(joint.ok && joint.plan.actions.map(brief).sort()).toEqual(alone.sort());
    const stuck = await dnfDriver.plan(paths, {
      updates: [...updates, { name: 'stuck', toVersion: '0:2.0-1' }],
    });
    expect(!stuck.ok && stuck.reason).toContain('never-published');
  });

  test.each([
    ['one whose needs nobody offers', 'stuck', '0:2.0-1', 'never-published'],
    ['a version that nobody offers', 'demo', '1:9.9-1', 'no enabled repository offers demo 1:9.9-1'],
    ['an absent package', 'libgrowing', '0:2.0-1', 'libgrowing is not installed'],
    ['what is installed already', 'demo', '1:1.0-1.el9', 'installed already'],
    ['an option', '--nogpgcheck', '0:1-1', 'dnf does not accept'],
    ['a pattern', 'de*', '1:1.1-1.el9', 'dnf does not accept'],
    ['a version without its epoch', 'demo', '1.1-1.el9', 'dnf does not accept'],
  ])('no plan is made for %s, and the reason is given', async (_, name, toVersion, reason) => {
    const outcome = await dnfDriver.plan(paths, { updates: [{ name, toVersion }] });
    expect(!outcome.ok && outcome.reason).toContain(reason);
  });

  test.each([
    ['excluded', 'etc/dnf/dnf.conf', '[main]\nexcludepkgs=pinned\n', 'excluded by the configuration of dnf'],
    [
      'locked',
      'etc/dnf/plugins/versionlock.list',
      '# a lock\npinned-0:2.0-1.*\n',
      'held back by versionlock',
    ],
    ['shut out', 'etc/dnf/plugins/versionlock.list', '!pinned-0:2.1-*\n', 'held back by versionlock'],
  ])(
    'a package that is %s is reported as held, its update is listed and not planned',
    async (_, file, text, why) => {
      await writeFile(join(host.root, file), text);
      const scan = await dnfDriver.scan(paths);
      expect(scan.complete).toBe(true);
      expect(scan.packages.filter(({ held }) => held).map(({ name }) => name)).toEqual(['pinned']);
      expect(scan.updates.find(({ name }) => name === 'pinned')?.available_version).toBe('0:2.1-1');
      const outcome = await dnfDriver.plan(paths, {
        updates: [{ name: 'pinned', arch: 'noarch', toVersion: '0:2.1-1' }],
      });
      expect(!outcome.ok && outcome.reason).toContain(why);
    },
  );

  test('a versionlock that is switched off holds nothing', async () => {
    await writeFile(join(host.root, 'etc/dnf/plugins/versionlock.conf'), '[main]\nenabled = 0\n');
    await writeFile(join(host.root, 'etc/dnf/plugins/versionlock.list'), 'pinned-0:2.0-1.*\n');
    expect((await planOf('pinned', '0:2.1-1')).actions).toHaveLength(1);
  });

  test('a fetch downloads exactly the files of the plan, owned by the requesting user', async () => {
    const directory = join(dir.path, 'fetched');
    await mkdir(directory, { mode: 0o700 });
    const { actions } = await planOf('ousting', '0:2.0-1');
    expect(await dnfDriver.fetch(paths, { actions, directory })).toEqual({ ok: true });
    expect(await readdir(directory)).toEqual(['ousting-2.0-1.noarch.rpm']);
    for (const path of [directory, join(directory, 'ousting-2.0-1.noarch.rpm')]) {
      expect((await stat(path)).uid).toBe(process.getuid?.());
    }
    expect(host.fetched).toContain('/baseos/ousting-2.0-1.noarch.rpm');
  });

  const elsewhere = ['/dev/shm', '/var/tmp'].find(
    (path) => existsSync(path) && statSync(path).dev !== statSync(tmpdir()).dev,
  );
  test.skipIf(elsewhere === undefined)(
    'a fetch ends in a folder on another file system than the temporary one',
    async () => {
      const directory = await mkdtemp(join(elsewhere ?? '', 'tidegate-dnf-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      const { actions } = await planOf('ousting', '0:2.0-1');
      expect(await dnfDriver.fetch(paths, { actions, directory })).toEqual({ ok: true });
      expect(await readdir(directory)).toEqual(['ousting-2.0-1.noarch.rpm']);
    },
  );

  test('a plan whose hashes differ from the metadata is refused before any download (A4)', async () => {
    const directory = join(dir.path, 'refused');
    await mkdir(directory);
    const { actions } = await planOf('demo', '1:1.1-1.el9');
    const before = host.fetched.length;
    const forged = actions.map((action) =>
      action.name === 'demo' && action.artifact
        ? { ...action, artifact: { ...action.artifact, sha256: 'ab'.repeat(32) } }
        : action,
    );
    const outcome = await dnfDriver.fetch(paths, { actions: forged, directory });
    expect(!outcome.ok && outcome.reason).toMatch(/^artifact_mismatch: .*demo/);
    expect(host.fetched.slice(before).filter((path) => path.endsWith('.rpm'))).toEqual([]);
    expect(await readdir(directory)).toEqual([]);
  });

  test('a file changed in the repository at equal size is rejected (A4)', async () => {
    const directory = join(dir.path, 'tampered');
    await mkdir(directory);
    const { actions } = await planOf('growing', '0:2.0-1');
    const rpm = host.rpmPath('libgrowing', '0:2.0-1');
    const original = await readFile(rpm);
    const tampered = Buffer.from(original);
    tampered[tampered.length - 20] = (tampered[tampered.length - 20] ?? 0) ^ 1;
    await writeFile(rpm, tampered);
    const outcome = await dnfDriver.fetch(paths, { actions, directory });
    await writeFile(rpm, original);
    expect(!outcome.ok && outcome.reason).toMatch(/^artifact_mismatch/);
    expect(await readdir(directory)).toEqual([]);
  });

  test('a transaction of rpm that is under way makes a scan incomplete', async () => {
    const hold = `import fcntl, sys
lock = open(sys.argv[1], "r+"); fcntl.lockf(lock, fcntl.LOCK_EX); print("held", flush=True); sys.stdin.read()`;
    const holder = spawn('/usr/bin/python3', ['-c', hold, join(host.root, 'var/lib/rpm/.rpm.lock')]);
    await once(holder.stdout, 'data');
    const scan = await dnfDriver.scan(paths);
    holder.stdin.end();
    await once(holder, 'exit');
    expect(scan).toMatchObject({ complete: false, reason: 'another program is changing packages' });
    expect(scan.packages.length).toBeGreaterThan(0);
  });

  test('a database that is damaged or gone makes a scan incomplete, never empty and complete', async () => {
    const database = join(host.root, 'var/lib/rpm/rpmdb.sqlite');
    const bytes = await readFile(database);
    await writeFile(database, bytes.fill(0x5a, 0, bytes.length / 2));
    expect(await dnfDriver.scan(paths)).toMatchObject({ complete: false });
    await rename(join(host.root, 'var/lib/rpm'), join(host.root, 'var/lib/rpm.away'));
    const gone = await dnfDriver.scan(paths);
    expect(gone).toMatchObject({ complete: false, packages: [], reason: "rpm's database is not there" });
    const nowhere = await dnfDriver.scan(hostPaths({ dnf_root: join(dir.path, 'nowhere') }));
    expect(nowhere).toMatchObject({ complete: false, packages: [] }); // in particular, not the packages of this machine
  });

  test.each([
    [
      'repositories that are all off',
      (text: string) => text.replaceAll('enabled=1', 'enabled=0'),
      'no repository',
    ],
    ['a repository that cannot be reached', (text: string) => text.replace('/baseos', '/nowhere'), 'baseos'],
    [
      'one that may be left out when it cannot be reached',
      (text: string) => text.replace('/baseos\n', '/nowhere\nskip_if_unavailable=1\n'),
      'baseos',
    ],
    ['a file that cannot be read as settings', (text: string) => `${text}\n[broken\n`, 'test.repo'],
    ['a key that is elsewhere than on the host', keyFromNetwork, 'baseos'],
  ])('%s make a scan incomplete, with the reason', async (_, change, reason) => {
    const file = join(host.root, 'etc/yum.repos.d/test.repo');
    await writeFile(file, change(await readFile(file, 'utf8')));
    const scan = await dnfDriver.scan(paths);
    expect(scan).toMatchObject({ complete: false });
    expect(scan.reason).toContain(reason);
    expect(scan.packages.length).toBeGreaterThan(0);
  });

  test('metadata signed by somebody else are rejected', async () => {
    const repomd = join(host.repositories.folder, 'baseos/repodata/repomd.xml');
    const original = await readFile(repomd, 'utf8');
    await writeFile(repomd, original.replace('<revision>', '<revision>9'));
    const scan = await dnfDriver.scan(paths);
    await writeFile(repomd, original);
    expect(scan).toMatchObject({ complete: false, updates: [] });
  });

  test('cached metadata are as old as their last refresh', async () => {
    const identity = await downloadIdentity(null);
    const places = await findDnfPlaces(paths);
    if (!places.ok) throw new Error(places.reason);
    const kept = join(dir.path, 'kept');
    await mkdir(kept);
    const ask = (what: 'scan' | 'ages') =>
      withDnfSession(places.value, identity, (session) => session.ask(what, {}), kept);
    const ids = (run: ProgramResult) => {
      const answer = parseAnswer(run, AgesAnswer);
      return answer.ok ? answer.value.repositories : answer.reason;
    };
    expect(ids(await ask('ages'))).toEqual([
      { id: 'baseos', fetched_at: null },
      { id: 'appstream', fetched_at: null },
    ]);
    const before = Math.floor(Date.now() / 1_000);
    await ask('scan');
    const after = ids(await ask('ages'));
    expect(after).toMatchObject([{ id: 'baseos' }, { id: 'appstream' }]);
    for (const { fetched_at } of Array.isArray(after) ? after : []) {
      expect(fetched_at).toBeGreaterThanOrEqual(before);
    }

    const found = await readdir(kept, { recursive: true });
    const files = found.filter((path) => /^appstream[^/]*\/repodata\/[^/]*primary/.test(path));
    expect(files).not.toEqual([]);
    for (const path of files) await utimes(join(kept, path), before - 9 * 86_400, before - 9 * 86_400);
    const aged = parseAnswer(await ask('ages'), AgesAnswer);
    if (!aged.ok) throw new Error(aged.reason);
    const judged = judgeMetadata(aged.value, (before + 30) * 1_000);
    expect(judged.ageMs).toBe((9 * 86_400 + 30) * 1_000);
    expect(judged.staleness).toContain('the metadata of appstream are 216 hours old');
  });

  test('this machine, which has the programs and no database of rpm in its place, is no dnf host', async () => {
    const found = existsSync('/.rpmdb');
    expect(await dnfDriver.present(hostPaths(undefined))).toBe(false);
    expect(existsSync('/.rpmdb')).toBe(found); // a query by rpm creates a missing database
    expect(await dnfDriver.present(paths)).toBe(true);
  });
});

/** The right key, also held by the repository server. */
function keyFromNetwork(text: string): string {
  const server = /^baseurl=(.*)\/baseos$/m.exec(text)?.[1] ?? '';
  return text.replaceAll(/^gpgkey=.*$/gm, `gpgkey=${server}/key`);
}
