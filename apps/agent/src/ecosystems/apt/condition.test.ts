import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InventoryReport } from '@tidegate/protocol/agent-api';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO, FAILING } from '@tidegate/testkit/apt-packages';
import { canMount } from '@tidegate/testkit/can-mount';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HostPaths } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { findLeftFiles } from '../left-files.ts';
import { aptDriver } from './apt.ts';
import { parseConffiles } from './condition.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: the condition of an apt host: ${missing}`);

test('files are read with their packages, whatever dpkg adds to a line', () => {
  const hash = 'd41d8cd98f00b204e9800998ecf8427e';
  const lines = [
    'adduser',
    ` /etc/adduser.conf ${hash}`,
    '',
    'base-files',
    '',
    'odd',
    ` /etc/a b ${hash} obsolete`,
  ];
  expect(parseConffiles([...lines, ' /etc/new newconffile', ' not a path', ''].join('\n'))).toEqual([
    { path: '/etc/adduser.conf', package: 'adduser' },
    { path: '/etc/a b', package: 'odd' },
    { path: '/etc/new', package: 'odd' },
  ]);
});

test('a folder that cannot be read is counted: what lies there is not known', async () => {
  using dir = tmpDir('tidegate-left-');
  await symlink('loop', join(dir.path, 'loop'));
  await writeFile(join(dir.path, 'a.conf.dpkg-dist'), '');
  const files = ['/a.conf', '/loop/b.conf', '/gone/c.conf', '/a.conf.dpkg-dist/d.conf'].map((path) => ({
    path,
  }));
  expect(await findLeftFiles(files, { root: dir.path, suffixes: ['.dpkg-dist'] })).toEqual({
    left: [{ path: '/a.conf.dpkg-dist' }],
    unreadFolders: 1,
  });
});

describe.skipIf(missing !== null)('the condition of an apt host', () => {
  const dir = tmpDir('tidegate-apt-condition-');
  let host: AptHost;
  let paths: HostPaths;

  beforeAll(async () => {
    const tuned = {
      installed: [{ name: 'tuned', version: '1.0-1', conffiles: { 'tuned.conf': 'a=1\n', other: 'b\n' } }],
      offered: [{ name: 'tuned', version: '1.1-1', conffiles: { 'tuned.conf': 'a=2\n', other: 'b\n' } }],
    };
    host = await createAptHost(dir.path, { packages: [DEMO, FAILING, tuned] });
    paths = hostPaths({ apt_config: host.aptConf });
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  async function condition() {
    const { reason: _, ...scan } = await aptDriver.scan(paths);
    expect(Check(InventoryReport, { scanned_at: '2026-01-01T00:00:00Z', ...scan })).toBe(true);
    return scan.condition;
  }

  test('of a sound host there is nothing to say', async () => {
    expect(await condition()).toEqual({
      ...{ trouble: null, broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 },
    });
  });

  test('a package whose set-up failed is named, with its state and what to do', async () => {
    await host.dpkg('--unpack', host.debPath('fragile', '1.1-1'));
    expect(await condition()).toMatchObject({
      trouble: {
        reason: 'packages_broken',
        detail: expect.stringMatching(/^fragile 1\.1-1 is unpacked; as root: run/),
      },
      broken: [{ name: 'fragile', version: '1.1-1', arch: 'all', state: 'unpacked' }],
    });
  });

  test.skipIf(!canMount())('a disk without room for any installation is trouble, too', async () => {
    const kept = join(dir.path, 'kept');
    await runTool('cp', ['-a', host.adminDir, kept]);
    await runTool('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'none', host.adminDir]);
    try {
      await runTool('cp', ['-a', `${kept}/.`, host.adminDir]);
      const said = await condition();
      expect(said).toMatchObject({ trouble: { reason: 'space_insufficient' }, broken: [] });
      expect(said?.trouble?.detail).toMatch(
        /^the installation needs 32 MiB on the file system of .*; free some there/,
      );
      expect(said?.repair).toBeUndefined();
    } finally {
      await runTool('umount', [host.adminDir]);
    }
    expect((await condition())?.trouble).toBeNull();
  });

  test('a configuration file that dpkg left beside a changed one is listed with its package', async () => {
    await writeFile(join(host.root, 'etc/tuned.conf'), 'a=mine\n');
    await host.dpkg('--force-confold', '--install', host.debPath('tuned', '1.1-1'));
    expect((await condition())?.left_files).toEqual([
      { path: '/etc/tuned.conf.dpkg-dist', package: 'tuned' },
    ]);
    await rm(join(host.root, 'etc/tuned.conf.dpkg-dist'));
    expect((await condition())?.left_files).toEqual([]);
  });

  test('a file that ucf left beside a changed one is listed with its package', async () => {
    await mkdir(join(host.root, 'var/lib/ucf'), { recursive: true });
    await writeFile(join(host.root, 'var/lib/ucf/registry'), 'demo \t /etc/by-ucf.conf\n');
    await writeFile(join(host.root, 'etc/by-ucf.conf.ucf-dist'), '');
    expect((await condition())?.left_files).toEqual([{ path: '/etc/by-ucf.conf.ucf-dist', package: 'demo' }]);
    await rm(join(host.root, 'var/lib/ucf'), { recursive: true });
    expect((await condition())?.left_files).toEqual([]);
  });

  test('a file of nobody that only looks like one is not listed', async () => {
    await writeFile(join(host.root, 'etc/mine.dpkg-dist'), '');
    expect((await condition())?.left_files).toEqual([]);
  });
});
