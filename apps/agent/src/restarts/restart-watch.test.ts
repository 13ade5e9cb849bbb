import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RestartReport } from '@tidegate/protocol/restarts';
import { aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { createDnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import { type TmpDir, tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { USUAL_PLACES } from '../ecosystems/host-places.ts';
import { ownUid } from '../platform/file-layer.ts';
import { type RestartWatch, watchRestarts } from './restart-watch.ts';
import { type ServiceFile, writeServiceFile } from './service-file.ts';

const NOW_MS = Date.parse('2026-06-01T12:00:00Z');
const BOOT = 'b0';
const SEEN: ServiceFile = {
  ...{
    v: 1,
    observed_at: '2026-06-01T11:59:00.000Z',
    boot_id: BOOT,
    cannot: null,
    stale: [],
    more_services: 0,
  },
};
const service = (name: string, kind: 'service' | 'core', path: string) => ({
  ...{ name, kind, processes: 1, files: [{ path }], more_files: 0 },
});

let dir: TmpDir;
let root: string;
let nowMs: number;
beforeEach(() => {
  dir = tmpDir();
  root = join(dir.path, 'signs');
  nowMs = NOW_MS;
  for (const folder of ['boot', 'run', 'proc/sys/kernel']) mkdirSync(join(root, folder), { recursive: true });
});
afterEach(() => dir.remove());

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const see = (file: Partial<ServiceFile> = {}) =>
  writeServiceFile(join(root, 'seen.json'), { ...SEEN, ...file });
const watch = (paths: HostPaths, observe: (() => void) | null = null): RestartWatch =>
  watchRestarts({
    ...{ paths, serviceFile: join(root, 'seen.json'), writerUid: ownUid(), bootId: BOOT, root, observe },
    nowMs: () => nowMs,
  });
async function reportOf(paths: HostPaths): Promise<RestartReport> {
  const one = watch(paths);
  expect(one.report()).toBeNull();
  await one.refresh();
  const report = one.report();
  if (report === null) throw new Error('no report');
  expect(Check(RestartReport, report)).toBe(true);
  return report;
}

describe.skipIf(aptHostMissing() !== null)('a real dpkg database', () => {
  const kernel = (release: string, version: string) => ({ name: `linux-image-${release}`, version });
  async function debian(...packages: { name: string; version: string }[]) {
    const host = await createAptHost(dir.path, { packages: [{ installed: packages, offered: [] }] });
    return { ...USUAL_PLACES, aptConfig: host.aptConf };
  }
  const runs = (release: string, version: string) => {
    put('proc/sys/kernel/osrelease', `${release}\n`);
    put('proc/sys/kernel/version', `#1 SMP PREEMPT_DYNAMIC Debian ${version} (2026-01-01)\n`);
  };

  test('a newer kernel is evidence once its image is there, with both versions', async () => {
    const paths = await debian(kernel('6.1.0-9-amd64', '6.1.27-1'), kernel('6.1.0-28-amd64', '6.1.119-1'));
    runs('6.1.0-9-amd64', '6.1.27-1');
    put('boot/vmlinuz-6.1.0-9-amd64', '');
    see();
    expect((await reportOf(paths)).reboot).toMatchObject({ need: 'not_needed', evidence: [] });
    put('boot/vmlinuz-6.1.0-28-amd64', '');
    expect((await reportOf(paths)).reboot).toEqual({
      need: 'needed',
      evidence: ['newer_kernel'],
      running_kernel: { release: '6.1.0-9-amd64', version: '6.1.27-1' },
      next_kernel: {
        ...{ release: '6.1.0-28-amd64', version: '6.1.119-1', package: 'linux-image-6.1.0-28-amd64' },
      },
      packages: [],
      livepatch: 'inactive',
    });
    put('etc/kernel/proxmox-boot-pin', '6.1.0-9-amd64\n');
    expect((await reportOf(paths)).reboot).toMatchObject({ need: 'not_needed' });
  });

  test('a host without the observer: nothing newer is unknown, never "not needed"', async () => {
    const paths = await debian(kernel('6.1.0-9-amd64', '6.1.27-1'));
    runs('6.1.0-9-amd64', '6.1.27-1');
    put('boot/vmlinuz-6.1.0-9-amd64', '');
    const { services, reboot } = await reportOf(paths);
    expect(services).toMatchObject({ need: 'unknown', reason: expect.stringContaining('tidegate-observer') });
    expect(reboot).toMatchObject({ need: 'unknown' });
  });

  test('the file of update-notifier names packages; a name that is none is left out', async () => {
    const paths = await debian(kernel('6.1.0-9-amd64', '6.1.27-1'));
    put('run/reboot-required', '*** System restart required ***\n');
    put('run/reboot-required.pkgs', 'libc6\nlinux-base\nlibc6\n\u202eevil\n');
    const { reboot } = await reportOf(paths);
    expect(reboot).toMatchObject({ need: 'needed', packages: ['libc6', 'linux-base'] });
    expect(reboot.evidence).toEqual(['reboot_required_file']);
  });

  test('a live patch is shown and changes no verdict', async () => {
    const paths = await debian(kernel('6.1.0-9-amd64', '6.1.27-1'), kernel('6.1.0-28-amd64', '6.1.119-1'));
    runs('6.1.0-9-amd64', '6.1.27-1');
    for (const release of ['6.1.0-9-amd64', '6.1.0-28-amd64']) put(`boot/vmlinuz-${release}`, '');
    put('sys/kernel/livepatch/kpatch_1/enabled', '1\n');
    put('run/reboot-required', '');
    const { reboot } = await reportOf(paths);
    expect(reboot).toMatchObject({ need: 'needed', livepatch: 'active' });
    expect(reboot.evidence).toEqual(['newer_kernel', 'empty_reboot_required_file']);
  });

  test('in a container a reboot is never needed', async () => {
    const paths = await debian(kernel('6.1.0-28-amd64', '6.1.119-1'));
    runs('6.1.0-9-amd64', '6.1.27-1');
    put('boot/vmlinuz-6.1.0-28-amd64', '');
    put('.dockerenv', '');
    see({ stale: [service('dbus.service', 'core', '/usr/lib/x')] });
    const { services, reboot } = await reportOf(paths);
    expect([reboot.need, reboot.evidence, services.need]).toEqual(['not_needed', ['container'], 'needed']);
  });

  test('the packages of replaced files are named, whatever spelling of /usr dpkg has', async () => {
    const paths = await debian({ name: 'libdemo1', version: '1' });
    // As a package from before the merge lists it; a process maps /usr/lib/libold.so.1.
    appendFileSync(join(dir.path, 'host/var/lib/dpkg/info/libdemo1.list'), '/lib/libold.so.1\n');
    see({
      stale: [
        service('dbus.service', 'core', '/usr/share/libdemo1/version'),
        service('nginx.service', 'service', '/usr/lib/libold.so.1'),
        service('odd.service', 'service', '/usr/lib/*'),
      ],
    });
    const { services, reboot } = await reportOf(paths);
    expect(services.stale.map(({ name, files: [file] }) => [name, file?.package])).toEqual([
      ['dbus.service', 'libdemo1'],
      ['nginx.service', 'libdemo1'],
      ['odd.service', undefined],
    ]);
    expect(reboot).toMatchObject({ need: 'needed', evidence: ['core_service'] });
  });
});

describe.skipIf(dnfHostMissing() !== null)('a real rpm database', () => {
  test('kernels are compared in the order of rpm', async () => {
    const kernel = (version: string) => ({
      name: 'kernel-core',
      version,
      release: '1.el9',
      provides: ['installonlypkg(kernel)'],
    });
    const host = await createDnfHost(dir.path, {
      packages: [{ installed: [kernel('5.14.0'), kernel('5.9.0')], offered: [] }],
    });
    const paths = { ...USUAL_PLACES, dnfRoot: host.root };
    for (const version of ['5.14.0', '5.9.0']) put(`usr/lib/modules/${version}-1.el9.noarch/vmlinuz`, '');
    see();
    put('proc/sys/kernel/osrelease', '5.9.0-1.el9.noarch\n');
    expect((await reportOf(paths)).reboot).toMatchObject({
      need: 'needed',
      evidence: ['newer_kernel'],
      next_kernel: { release: '5.14.0-1.el9.noarch', package: 'kernel-core' },
    });
    put('proc/sys/kernel/osrelease', '5.14.0-1.el9.noarch\n');
    expect((await reportOf(paths)).reboot).toMatchObject({ need: 'not_needed', evidence: [] });
    await host.stop();
  });
});

describe("the observer's report", () => {
  const NOWHERE: HostPaths = { ...USUAL_PLACES, aptConfig: '/nonexistent' };

  test.each([
    ['another boot', { boot_id: 'b1' }, 'since the last boot'],
    ['an hour ago', { observed_at: '2026-06-01T10:59:59.000Z' }, 'looked last at'],
    ['not all processes', { cannot: 'hidden' }, 'hidden'],
  ])('of %s makes services unknown', async (_, file, reason) => {
    see(file);
    const { services } = await reportOf(NOWHERE);
    expect(services).toMatchObject({ need: 'unknown', reason: expect.stringContaining(reason) });
  });

  test('that others could have written is not believed', async () => {
    see();
    renameSync(join(root, 'seen.json'), join(root, 'real.json'));
    symlinkSync(join(root, 'real.json'), join(root, 'seen.json'));
    expect((await reportOf(NOWHERE)).services).toMatchObject({
      need: 'unknown',
      reason: expect.stringContaining('symbolic link'),
    });
  });

  test('is read again when it changes, and expires by itself', async () => {
    see();
    const one = watch(NOWHERE);
    await one.refresh();
    const need = () => one.report()?.services.need;
    expect(need()).toBe('not_needed');
    see({ stale: [service('nginx.service', 'service', '/srv/x')] });
    await one.follow();
    expect(need()).toBe('needed');
    nowMs = Date.now() + 2 * 3_600_000; // the age of the file itself is real
    await one.follow();
    expect(need()).toBe('unknown');
  });

  test('after an installation is waited for, until it has seen its end', async () => {
    see();
    const one = watch(NOWHERE);
    let pauses = 0;
    await one.refreshAfter(NOW_MS, async () => {
      pauses += 1;
      if (pauses === 3) see({ observed_at: new Date(NOW_MS).toISOString() });
      return true;
    });
    expect([pauses, one.report()?.services.need]).toEqual([3, 'not_needed']);
    await one.refreshAfter(NOW_MS + 1, async () => true);
    expect(one.report()?.services).toMatchObject({ need: 'unknown' });
  });

  test('of an agent that is root is its own', async () => {
    const observe = () => see({ stale: [service('ssh.service', 'service', '/srv/x')] });
    const one = watch(NOWHERE, observe);
    await one.refreshAfter(NOW_MS, async () => {
      throw new Error('nothing to wait for');
    });
    expect(one.report()?.services.need).toBe('needed');
  });
});
