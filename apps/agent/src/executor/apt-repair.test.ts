import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repair } from '@tidegate/protocol/repairs';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO } from '@tidegate/testkit/apt-packages';
import { doOnce } from '@tidegate/testkit/do-once';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import { readCondition } from '../ecosystems/apt/condition.ts';
import { findAptPlaces, readInstalled } from '../ecosystems/apt/installed.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOfSet } from '../testing/approval-of.ts';
import { holdLimits } from '../testing/hold-limits.ts';
import { install } from '../testing/install.ts';
import { aptInstaller } from './apt.ts';
import { aptRepairer, aptRepairerOf } from './apt-repair.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: repairs on a real apt host: ${missing}`);

describe.skipIf(missing !== null)('repairing a real apt host', () => {
  const dir = tmpDir('tidegate-apt-repair-');
  const trace = join(dir.path, 'trace');
  const lame = join(dir.path, 'lame');
  let host: AptHost;
  let paths: HostPaths;

  const one = (name: string, postinst: string) => ({
    installed: [{ name, version: '1.0-1' }],
    offered: [{ name, version: '1.1-1', postinst }],
  });
  const failing = (name: string) => `echo ${name} >> ${trace}; test ! -e ${lame}`;

  beforeAll(async () => {
    host = await createAptHost(dir.path, {
      packages: [
        DEMO,
        one('loud', failing('loud')),
        one('other', failing('other')),
        one('fatal', `test -e ${lame} && kill -9 $PPID; true`),
      ],
    });
    paths = hostPaths({ apt_config: host.aptConf });
  });
  beforeEach(async () => {
    await rm(trace, { force: true });
    await rm(lame, { force: true });
    await host.rollBack();
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  /** Leaves packages half-configured, as a run of apt does whose scripts fail. */
  const breakAll = doOnce(
    () => [host.root],
    async (...names: string[]) => {
      await writeFile(lame, '');
      const updates = names.map((name) => ({ name, toVersion: '1.1-1' }));
      const outcome = await aptDriver.plan(paths, { updates });
      if (!outcome.ok) throw new Error(outcome.reason);
      const { actions } = outcome.plan;
      const stage = await mkdtemp(join(dir.path, 'stage-'));
      const fetched = await aptDriver.fetch(paths, { actions, directory: stage });
      if (!fetched.ok) throw new Error(fetched.reason);
      const approval = approvalOfSet({ ecosystem: 'apt', updates, actions });
      await install(aptInstaller, { paths, stage, approval });
      await rm(trace, { force: true });
      await rm(lame);
    },
  );

  async function offered(): Promise<Repair | undefined> {
    const places = await findAptPlaces(paths);
    if (!places.ok) throw new Error(places.reason);
    const installed = await readInstalled(places.value);
    if (!installed.ok) throw new Error(installed.reason);
    return (await readCondition(places.value, installed.value))?.repair;
  }

  async function demandOffer(): Promise<Repair> {
    const repair = await offered();
    if (repair === undefined) throw new Error('the host offers no repair');
    return repair;
  }

  async function repairWith(repair: Repair, repairer = aptRepairer) {
    const prepared = await repairer.prepare(paths, repair);
    return prepared.ok ? prepared.commit() : prepared;
  }

  const ran = () => readFile(trace, 'utf8').catch(() => '');
  const scriptOf = (name: string) => join(host.adminDir, 'info', `${name}.postinst`);

  test('the report names each unfinished package with the digest of its script; a sound host has none', async () => {
    expect(await offered()).toBeUndefined();
    await breakAll('other', 'loud');
    const packages = await Promise.all(
      ['loud', 'other'].map(async (name) => ({
        ...{ name, arch: 'all', version: '1.1-1', state: 'half-configured' },
        scripts: {
          postinst: createHash('sha256')
            .update(await readFile(scriptOf(name)))
            .digest('hex'),
        },
      })),
    );
    expect(await offered()).toEqual({ packages });
  });

  test('what was signed is finished, and updates can be installed again', async () => {
    await breakAll('loud', 'other');
    const outcome = await repairWith(await demandOffer());
    expect(outcome).toMatchObject({
      ok: true,
      installed: [
        { name: 'loud', arch: 'all', version: '1.1-1' },
        { name: 'other', arch: 'all', version: '1.1-1' },
      ],
      output: expect.stringContaining('Setting up loud (1.1-1)'),
    });
    expect(await ran()).toBe('loud\nother\n');
    expect(await offered()).toBeUndefined();
    expect(await aptDriver.findTrouble?.(paths)).toBeNull();
  });

  test('a package that was finished meanwhile is not run again', async () => {
    await breakAll('loud', 'other');
    const repair = await demandOffer();
    expect(await repairWith(repair)).toMatchObject({ ok: true });
    await rm(trace);
    const again = await repairWith(repair);
    expect(again).toMatchObject({ ok: true, output: expect.stringContaining('Nothing was left to do') });
    expect(again.ok && again.installed).toHaveLength(2);
    expect(await ran()).toBe('');
  });

  test.each<[string, (repair: Repair) => Repair, RegExp]>([
    [
      'a package more than was signed',
      ({ packages }) => ({ packages: packages.filter(({ name }) => name !== 'other') }),
      /^other 1\.1-1 is half-configured as well, and that was not approved$/,
    ],
    [
      'another version',
      ({ packages }) => ({ packages: packages.map((each) => ({ ...each, version: '1.0-1' })) }),
      /^loud is 1\.1-1, and 1\.0-1 was approved$/,
    ],
    [
      'another architecture',
      ({ packages }) => ({ packages: packages.map((each) => ({ ...each, arch: 'amd64' })) }),
      /^loud 1\.1-1 is half-configured as well/,
    ],
    [
      'another state',
      ({ packages }) => ({ packages: packages.map((each) => ({ ...each, state: 'unpacked' })) }),
      /^loud 1\.1-1 is half-configured, and was unpacked$/,
    ],
    [
      'a script of other bytes',
      ({ packages }) => ({
        packages: packages.map((each) => ({ ...each, scripts: { postinst: 'a'.repeat(64) } })),
      }),
      /^the postinst script of loud 1\.1-1 is not the one that was approved$/,
    ],
    [
      'a script that was not named',
      ({ packages }) => ({ packages: packages.map((each) => ({ ...each, scripts: {} })) }),
      /^the postinst script of loud/,
    ],
    ['nothing signed at all', () => ({ packages: [] }), /^loud 1\.1-1 is half-configured as well/],
  ])('repair_differs: %s, and no script runs', async (_, change, detail) => {
    await breakAll('loud', 'other');
    const outcome = await repairWith(change(await demandOffer()));
    expect(outcome).toMatchObject({ ok: false, reason: 'repair_differs' });
    expect(!outcome.ok && outcome.detail).toMatch(detail);
    expect(await ran()).toBe('');
  });

  test('repair_differs: a script or a config script that was changed after the report', async () => {
    await breakAll('loud', 'other');
    const repair = await demandOffer();
    const script = await readFile(scriptOf('other'), 'utf8');
    await writeFile(scriptOf('other'), `${script}\necho more >> ${trace}\n`);
    expect(await repairWith(repair)).toMatchObject({ ok: false, reason: 'repair_differs' });
    await writeFile(scriptOf('other'), script);
    const config = join(host.adminDir, 'info', 'other.config');
    await writeFile(config, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    const outcome = await repairWith(repair);
    expect(!outcome.ok && outcome.detail).toMatch(/^the config script of other 1\.1-1 is not the one/);
    await rm(config);
    expect(await ran()).toBe('');
    expect(await repairWith(repair)).toMatchObject({ ok: true });
  });

  test('a script that cannot be read, or is a link, is never offered', async () => {
    await breakAll('loud');
    const repair = await demandOffer();
    const script = await readFile(scriptOf('loud'));
    await rm(scriptOf('loud'));
    await writeFile(join(dir.path, 'elsewhere'), script, { mode: 0o755 });
    await symlink(join(dir.path, 'elsewhere'), scriptOf('loud'));
    expect(await offered()).toBeUndefined();
    expect(await repairWith(repair)).toMatchObject({ ok: false, reason: 'repair_differs' });
    await rm(scriptOf('loud'));
    await writeFile(scriptOf('loud'), script, { mode: 0o755 });
  });

  test('repair_failed: what still fails is named, and what was finished too', async () => {
    await breakAll('loud', 'other');
    const script = await readFile(scriptOf('other'), 'utf8');
    await writeFile(scriptOf('other'), '#!/bin/sh\nexit 3\n');
    const outcome = await repairWith(await demandOffer());
    await writeFile(scriptOf('other'), script);
    expect(outcome).toMatchObject({
      ...{ ok: false, reason: 'repair_failed', exitCode: 1 },
      installed: [{ name: 'loud', arch: 'all', version: '1.1-1' }],
    });
    expect(!outcome.ok && outcome.detail).toMatch(/^other 1\.1-1 is half-configured; dpkg ended with 1/);
  });

  test('the database that an interrupted dpkg left is completed, and the package finished', async () => {
    await breakAll('fatal');
    const pending = async () =>
      (await readdir(join(host.adminDir, 'updates'))).filter((name) => /^\d+$/.test(name));
    expect(await pending()).not.toEqual([]);
    expect(await repairWith(await demandOffer())).toMatchObject({ ok: true });
    expect(await pending()).toEqual([]);
    expect(await aptDriver.findTrouble?.(paths)).toBeNull();
  });

  test('a database alone that is unfinished is completed, and no script runs', async () => {
    await breakAll('loud');
    const repair = await demandOffer();
    expect(await repairWith(repair)).toMatchObject({ ok: true });
    await rm(trace);
    // As an interrupted dpkg leaves it: the newest word about a package lies beside the database.
    const status = await readFile(join(host.adminDir, 'status'), 'utf8');
    const entry = status.split('\n\n').find((text) => text.startsWith('Package: loud\n'));
    await writeFile(join(host.adminDir, 'updates', '0000'), `${entry}\n`);
    expect(await offered()).toEqual({ packages: [] });
    expect(await repairWith({ packages: [] })).toMatchObject({ ok: true });
    expect(await readdir(join(host.adminDir, 'updates'))).toEqual([]);
    expect(await offered()).toBeUndefined();
    expect(await ran()).toBe('');
  });

  test('a lock that another program keeps is waited for, then the repair is refused', async () => {
    await breakAll('loud');
    const repair = await demandOffer();
    const lock = join(host.adminDir, 'lock-frontend');
    const script = `import fcntl,sys\nf=open(sys.argv[1],'a')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()`;
    const holder = spawn('/usr/bin/python3', ['-c', script, lock], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(holder.stdout, 'data');
      expect(await repairWith(repair, aptRepairerOf({ lockWaitMs: 0 }))).toMatchObject({
        ...{ ok: false, reason: 'packages_locked' },
      });
    } finally {
      holder.stdin.end();
      await once(holder, 'exit');
    }
    expect(await ran()).toBe('');
  });

  test('a script that hangs is ended, and the package is named', async () => {
    await breakAll('loud');
    const script = await readFile(scriptOf('loud'), 'utf8');
    await writeFile(scriptOf('loud'), `#!/bin/sh\necho hangs > ${trace}\nexec sleep 600\n`);
    const repair = await demandOffer();
    using limits = holdLimits();
    const repairing = repairWith(repair, aptRepairerOf({ timeoutMs: 1_000 }));
    await limits.passOnce(() => existsSync(trace), 1_000);
    const outcome = await repairing;
    await writeFile(scriptOf('loud'), script);
    expect(outcome).toMatchObject({ ok: false, reason: 'repair_failed' });
    expect(!outcome.ok && outcome.detail).toMatch(
      /^loud 1\.1-1 is half-configured, the database of dpkg is unfinished; dpkg took over/,
    );
  });
});
