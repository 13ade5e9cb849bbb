import { closeSync, existsSync, fstatSync, openSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { recordedLibrary } from '../testing/recorded-library.ts';
import { holdInstanceLock } from './instance-lock.ts';
import { cLibraries } from './native-library.ts';

const LOCK_EX_NB = 6; // LOCK_EX | LOCK_NB of sys/file.h
const LOCK_UN = 8;

function hold(folder: string, flock: ((...values: unknown[]) => unknown) | null) {
  const files: OpenFile[] = [];
  const recorded = (...values: unknown[]) => {
    files.push(fileOf(values[0]));
    return flock?.(...values);
  };
  const library = recordedLibrary(flock === null ? null : { flock: recorded });
  const system = { platform: 'darwin', processor: 'arm64', openLibrary: library.open } as const;
  return { ...library, files, outcome: holdInstanceLock(folder, system) };
}

/** A file behind a descriptor, whose number another thread may have once it is closed. */
interface OpenFile {
  fd: number;
  ino: number;
  dev: number;
}

/** Throws where the descriptor is closed. */
function fileOf(value: unknown): OpenFile {
  const fd = Number(value);
  const { ino, dev } = fstatSync(fd);
  return { fd, ino, dev };
}

function isOpen({ fd, ino, dev }: OpenFile): boolean {
  try {
    const now = fstatSync(fd);
    return now.ino === ino && now.dev === dev;
  } catch {
    return false;
  }
}

/** The file that tells whether the folder gives locks at all has no name any more when it is locked. */
function isControl(fd: unknown): boolean {
  return fstatSync(Number(fd)).nlink === 0;
}

describe('flock(2) as on macOS (section 5)', () => {
  test('is asked of the system library, exclusively and without waiting; release unlocks, then closes', async () => {
    using folder = tmpDir();
    // That a descriptor is open at its call is seen by `fileOf`.
    const { outcome, calls, files, opened } = hold(folder.path, () => 0);
    const held = await outcome;
    expect(opened).toEqual([
      { candidates: ['libSystem.B.dylib'], signatures: { flock: { args: ['i32', 'i32'], returns: 'i32' } } },
    ]);
    const [, fd, operation] = calls[0] ?? [];
    expect(operation).toBe(LOCK_EX_NB);
    expect(statSync(join(folder.path, 'agent.lock')).ino).toBe(fstatSync(Number(fd)).ino);
    expect(statSync(join(folder.path, 'agent.lock')).mode & 0o777).toBe(0o600);
    if (!held.ok) throw new Error(held.detail);
    held.lock.release();
    expect(calls.slice(1)).toEqual([['flock', fd, LOCK_UN]]);
    expect(files).toHaveLength(2);
    expect(files.map(isOpen)).toEqual([false, false]);
  });

  test('that another process holds is refused every time, and leaves no open file and no other file', async () => {
    using folder = tmpDir();
    const { outcome, calls, files } = hold(folder.path, (fd) => (isControl(fd) ? 0 : -1));
    expect(await outcome).toMatchObject({ ok: false, reason: 'held' });
    expect(calls).toHaveLength(4);
    expect(files.map(isOpen)).toEqual([false, false, false, false]);
    expect(readdirSync(folder.path)).toEqual(['agent.lock']);
  });

  test.each([LOCK_EX_NB, LOCK_UN])(
    'that a signal interrupts is asked again (operation %i)',
    async (interrupted) => {
      using folder = tmpDir();
      let left = 2;
      const { outcome, calls } = hold(folder.path, (_, operation) => {
        if (operation !== interrupted || left === 0) return 0;
        left -= 1;
        return -1;
      });
      const held = await outcome;
      if (!held.ok) throw new Error(held.detail);
      held.lock.release();
      expect(calls.filter(([, , operation]) => operation === interrupted)).toHaveLength(3);
      expect(calls).toHaveLength(4);
    },
  );

  test('of a file system without locks is not another process', async () => {
    using folder = tmpDir();
    const { outcome, files } = hold(folder.path, () => -1);
    expect(await outcome).toMatchObject({
      ok: false,
      reason: 'unavailable',
      detail: expect.stringContaining('the file system gives no locks'),
    });
    expect(files.length).toBeGreaterThan(0);
    expect(files.some(isOpen)).toBe(false);
    expect(readdirSync(folder.path)).toEqual(['agent.lock']);
  });

  test('without the library there is no lock, and no file', async () => {
    using folder = tmpDir();
    expect(await hold(folder.path, null).outcome).toMatchObject({ ok: false, reason: 'unavailable' });
    expect(existsSync(join(folder.path, 'agent.lock'))).toBe(false);
  });

  test('a link in place of the file is not followed', async () => {
    using folder = tmpDir();
    const target = join(folder.path, 'elsewhere');
    closeSync(openSync(target, 'w'));
    symlinkSync(target, join(folder.path, 'agent.lock'));
    expect(await hold(folder.path, () => 0).outcome).toMatchObject({ ok: false, reason: 'unavailable' });
  });
});

test.each([
  ['linux', 'x64', ['libc.so.6', 'libc.musl-x86_64.so.1', '/lib/ld-musl-x86_64.so.1']],
  ['linux', 'arm64', ['libc.so.6', 'libc.musl-aarch64.so.1', '/lib/ld-musl-aarch64.so.1']],
  ['darwin', 'arm64', ['libSystem.B.dylib']],
])('the C library of %s on %s is looked for under its names', (platform, processor, names) => {
  expect(cLibraries({ platform, processor })).toEqual(names);
});
