import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO, FAILING, REMOVAL } from '@tidegate/testkit/apt-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { holdLimits } from '../testing/hold-limits.ts';
import { install, installHearing } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import { aptInstaller, aptInstallerOf } from './apt.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: apt on a real host in trouble: ${missing}`);

describe.skipIf(missing !== null)('apt on a real host in trouble', () => {
  const dir = tmpDir('tidegate-apt-trouble-');
  const trace = join(dir.path, 'trace');
  let host: AptHost;
  let paths: HostPaths;

  const one = (name: string, postinst: string) => ({
    installed: [{ name, version: '1.0-1' }],
    offered: [{ name, version: '1.1-1', postinst }],
  });

  beforeAll(async () => {
    const brittle = {
      installed: [{ name: 'brittle', version: '1.0-1' }],
      offered: [
        ...[{ name: 'brittle', version: '1.1-1', depends: 'libdemo (>= 1.0-1+deb12u1)', postinst: 'exit 1' }],
      ],
    };
    const vast = {
      installed: [{ name: 'vast', version: '1.0-1' }],
      offered: [{ name: 'vast', version: '1.1-1', installedSizeKib: 2 ** 41 }],
    };
    host = await createAptHost(dir.path, {
      packages: [
        ...[DEMO, FAILING, REMOVAL, brittle, vast],
        one('fatal', 'kill -9 $PPID'),
        one('loud', `echo ran >> ${trace}; exit 1`),
        one('hanging', `echo hangs > ${trace}; sleep 600`),
        one('asking', 'read answer; test -z "$answer"'),
        one('serving', `sleep 600 & echo $! > ${trace}`),
      ],
    });
    paths = hostPaths({ apt_config: host.aptConf });
  });
  beforeEach(async () => {
    await rm(trace, { force: true });
    await host.rollBack();
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const staged = stageOnce(dir.path, aptDriver);

  async function prepare(name: string, toVersion = '1.1-1') {
    const { stage, actions } = await staged(paths, { name, toVersion });
    return { paths, stage, actions, approval: approvalOf({ ecosystem: 'apt', name, toVersion, actions }) };
  }

  test('a script of another package that failed before does not run along: the host is refused', async () => {
    const job = await prepare('libdemo', '1.0-1+deb12u1');
    expect(await install(aptInstaller, await prepare('loud'))).toMatchObject({ reason: 'install_failed' });
    expect(await readFile(trace, 'utf8')).toBe('ran\n');
    const outcome = await install(aptInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'packages_broken' });
    expect(!outcome.ok && outcome.detail).toMatch(
      /^loud 1\.1-1 is half-configured; as root: run `dpkg --conf/,
    );
    expect(await readFile(trace, 'utf8')).toBe('ran\n');
    expect((await host.installed()).get('libdemo')).toBe('1.0-1');
    expect(await aptDriver.findTrouble?.(paths)).toMatchObject({ reason: 'packages_broken' });
  });

  test('what was installed already is a success on a broken host, too', async () => {
    const job = await prepare('libdemo', '1.0-1+deb12u1');
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    expect(await install(aptInstaller, await prepare('fragile'))).toMatchObject({ ok: false });
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
  });

  test('a newer version of the broken package itself mends the host', async () => {
    expect(await install(aptInstaller, await prepare('fragile'))).toMatchObject({ ok: false });
    await host.publish({ name: 'fragile', version: '1.2-1' });
    expect(await install(aptInstaller, await prepare('fragile', '1.2-1'))).toMatchObject({ ok: true });
    expect(await aptDriver.findTrouble?.(paths)).toBeNull();
  });

  test('an interrupted dpkg is refused', async () => {
    const [job, dying] = [await prepare('libdemo', '1.0-1+deb12u1'), await prepare('fatal')];
    expect(await install(aptInstaller, dying)).toMatchObject({ ok: false, reason: 'install_failed' });
    expect((await readdir(join(host.adminDir, 'updates'))).some((name) => /^\d+$/.test(name))).toBe(true);
    expect(await install(aptInstaller, job)).toMatchObject({ ok: false, reason: 'transaction_interrupted' });
    expect((await host.installed()).get('libdemo')).toBe('1.0-1');
  });

  test('a lock that another program keeps is refused after the wait', async () => {
    const job = await prepare('libdemo', '1.0-1+deb12u1');
    const lock = join(host.adminDir, 'lock-frontend');
    const script = `import fcntl,sys\nf=open(sys.argv[1],'a')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()`;
    const holder = spawn('/usr/bin/python3', ['-c', script, lock], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(holder.stdout, 'data');
      const outcome = await install(aptInstallerOf({ lockWaitMs: 0 }), job);
      expect(outcome).toMatchObject({ ok: false, reason: 'packages_locked' });
      expect(await aptDriver.findTrouble?.(paths)).toMatchObject({
        ...{
          reason: 'packages_locked',
          detail: expect.stringMatching(/^another program holds dpkg's lock; see/),
        },
      });
      expect((await host.installed()).get('libdemo')).toBe('1.0-1');
    } finally {
      holder.stdin.end();
      await once(holder, 'exit');
    }
    expect(await install(aptInstallerOf({ lockWaitMs: 0 }), job)).toMatchObject({ ok: true });
  });

  test('an update that does not fit on the disk is refused with both sizes', async () => {
    const outcome = await install(aptInstaller, await prepare('vast'));
    expect(outcome).toMatchObject({ ok: false, reason: 'space_insufficient' });
    expect(!outcome.ok && outcome.detail).toMatch(/needs \d+ MiB .* which has \d+ MiB/);
    expect((await host.installed()).get('vast')).toBe('1.0-1');
  });

  test('of a failed transaction the result says which packages are installed and which are not', async () => {
    const outcome = await install(aptInstaller, await prepare('brittle'));
    expect(outcome).toMatchObject({
      ...{ ok: false, reason: 'install_failed', exitCode: 100 },
      installed: [{ name: 'libdemo', version: '1.0-1+deb12u1', arch: 'all' }],
    });
    expect(!outcome.ok && outcome.detail).toMatch(
      /^brittle 1\.1-1 is half-configured; installed as approved: libdemo 1\.0-1\+deb12u1; apt-get ended/,
    );
  });

  test('what counts is what is installed: a failing hook of the host does not make an update fail', async () => {
    const job = await prepare('libdemo', '1.0-1+deb12u1');
    const conf = await readFile(host.aptConf, 'utf8');
    await writeFile(host.aptConf, `${conf}\nDPkg::Post-Invoke { "false"; };\n`);
    const outcome = await installHearing(aptInstaller, job);
    await writeFile(host.aptConf, conf);
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.output).toContain('All of it is installed, although apt-get ended with 100');
  });

  test('a script that hangs is ended, and the package is named', async () => {
    const job = await prepare('hanging');
    using limits = holdLimits();
    const installing = install(aptInstallerOf({ installTimeoutMs: 3_000 }), job);
    await limits.passOnce(() => existsSync(trace), 3_000);
    const outcome = await installing;
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    expect(!outcome.ok && outcome.detail).toContain('hanging');
    expect(!outcome.ok && outcome.detail).toContain('took over 3000 ms');
  });

  test('a script that asks gets no answer and does not wait for one', async () => {
    expect(await install(aptInstaller, await prepare('asking'))).toMatchObject({ ok: true });
  });

  test('a script that starts a daemon does not keep the installation waiting', async () => {
    const outcome = await install(aptInstaller, await prepare('serving'));
    process.kill(Number(readFileSync(trace, 'utf8')));
    expect(outcome).toMatchObject({ ok: true });
  });
});
