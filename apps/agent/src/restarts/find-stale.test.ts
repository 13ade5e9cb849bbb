import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { RestartReport, type StaleService } from '@tidegate/protocol/restarts';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { hostRoot } from '../testing/host-root.ts';
import { findStale, LOOK_LIMITS } from './find-stale.ts';

// Not in /tmp: what programs map from there is their own.
const CACHE = join(import.meta.dirname, '../../../../node_modules/.cache');
const SLEEP = '/usr/bin/sleep';
const elapsedMs = () => performance.now();
const look = () => findStale({ proc: '/proc', elapsedMs });

describe('real processes', () => {
  let folder: string;
  const children: ChildProcess[] = [];
  beforeEach(() => {
    mkdirSync(CACHE, { recursive: true });
    folder = mkdtempSync(join(CACHE, 'stale-'));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true });
  });

  /** Starts a program and returns once it has mapped itself. */
  async function start(program: string, args: string[], runs = program): Promise<void> {
    const child = spawn(program, args, { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    while (!readFileSync(`/proc/${child.pid}/maps`, 'latin1').includes(runs)) {
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  const copyOf = (name: string) => {
    const path = join(folder, name);
    copyFileSync(SLEEP, path);
    return path;
  };
  const filesOf = (stale: readonly StaleService[]) =>
    stale.flatMap(({ files }) => files.map(({ path }) => path)).filter((path) => path.startsWith(folder));

  test('a program is reported once its file is replaced, and not before', async () => {
    const program = copyOf('daemon');
    await start(program, ['1000']);
    expect(filesOf(look().stale)).toEqual([]);
    renameSync(copyOf('daemon.new'), program);
    const found = look().stale.filter(({ files }) => files.some(({ path }) => path === program));
    expect(found).toMatchObject([{ processes: 1, files: [{ path: program }] }]);
  });

  test('a program whose file was removed is reported, one that was restarted is not', async () => {
    const [removed, restarted] = [copyOf('removed'), copyOf('restarted')];
    await start(removed, ['1000']);
    unlinkSync(removed);
    renameSync(copyOf('restarted.new'), restarted);
    await start(restarted, ['1000']);
    expect(filesOf(look().stale)).toEqual([removed]);
  });

  test('hostile names stay one line of visible text within the limits', async () => {
    const program = copyOf(`\u202e\x1b[31m\n0::dbus.service ${'x'.repeat(150)}`);
    await start(program, ['1000'], folder);
    unlinkSync(program);
    const { stale } = look();
    expect(filesOf(stale)).toHaveLength(1);
    const services = { need: 'needed', stale, more_services: 0 };
    const reboot = { need: 'unknown', evidence: [], packages: [], livepatch: 'unknown' };
    const report = { observed_at: '2026-01-01T00:00:00Z', boot_id: 'b', services, reboot };
    expect(Check(RestartReport, report)).toBe(true);
  });

  describe.skipIf(ownUid() !== 0)('in other namespaces', () => {
    test('a hardened service with a mount namespace of its own is reported', async () => {
      const program = copyOf('hardened');
      await start('/usr/bin/unshare', ['-m', program, '1000'], program);
      unlinkSync(program);
      expect(filesOf(look().stale)).toEqual([program]);
    });

    test('a chroot on the host is reported, a container is not', async () => {
      const root = copyRoot(folder);
      const outside = join(root, 'sleep');
      await start('/usr/sbin/chroot', [root, '/sleep', '1000'], '/sleep');
      await start('/usr/bin/unshare', ['-m', '/usr/sbin/chroot', root, '/sleep', '1000'], '/sleep');
      expect(filesOf(look().stale)).toEqual([]);
      unlinkSync(outside);
      const found = look().stale.filter(({ files }) => files.some(({ path }) => path.endsWith('/sleep')));
      expect(found).toMatchObject([{ processes: 1 }]);
    });
  });
});

/** A root folder with a program and the libraries that it loads. */
function copyRoot(folder: string): string {
  const root = join(folder, 'root');
  for (const [, path = ''] of readFileSync(`/proc/self/maps`, 'latin1').matchAll(
    / (\/\S*(?:ld-linux|libc\.so)\S*)$/gm,
  )) {
    for (const place of ['lib64', 'lib', path.slice(1, path.lastIndexOf('/'))]) {
      mkdirSync(join(root, place), { recursive: true });
      copyFileSync(path, join(root, place, path.slice(path.lastIndexOf('/') + 1)));
    }
  }
  copyFileSync(SLEEP, join(root, 'sleep'));
  return root;
}

describe('limits', () => {
  test('without the first process the others are hidden, which is not "nothing found"', () => {
    using host = hostRoot({ 'proc/77/statm': '0 0 0 0 0 0 0' });
    expect(findStale({ proc: join(host.root, 'proc'), elapsedMs })).toMatchObject({
      stale: [],
      cannot: 'the processes of others are hidden from this one',
    });
  });

  test.each([
    ['too many processes', { processes: 3 }, /there are \d+ processes/],
    ['no time left', { ms: -1 }, /took more than -1 ms/],
    ['too many mappings', { mapsBytes: 100 }, /more than 100 bytes of mappings/],
  ])('%s: the answer is not complete', (_, limit, cannot) => {
    const found = findStale({ proc: '/proc', elapsedMs, limits: { ...LOOK_LIMITS, ...limit } });
    expect(found.cannot).toMatch(cannot);
  });
});
