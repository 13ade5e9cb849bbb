import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, lchown } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { findForeignEntry, findForeignStep } from './ownership.ts';

const asRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const ROOT = new Set([0]);

describe.runIf(asRoot)('a path', () => {
  function made() {
    const dir = tmpDir();
    const above = join(dir.path, 'above');
    const path = join(above, 'place');
    mkdirSync(join(path, 'bin'), { recursive: true });
    writeFileSync(join(path, 'bin/program'), '');
    return { dir, above, path };
  }

  test('owned by root alone is accepted, also below a sticky folder such as /tmp', async () => {
    const { dir, path } = made();
    using _dir = dir;
    expect(await findForeignStep(path, ROOT)).toBeNull();
    expect(await findForeignEntry(path, 0)).toBeNull();
  });

  test('through another user’s folder is rejected, unless that user is trusted', async () => {
    const { dir, above, path } = made();
    using _dir = dir;
    await lchown(above, NOBODY, NOBODY);
    expect(await findForeignStep(path, ROOT)).toBe(`${above} belongs to user ${NOBODY}`);
    expect(await findForeignStep(path, new Set([0, NOBODY]))).toBeNull();
  });

  test('through a link, a folder writable by others, or a missing one is rejected', async () => {
    const { dir, above, path } = made();
    using _dir = dir;
    const link = join(above, 'link');
    symlinkSync(path, link);
    expect(await findForeignStep(link, ROOT)).toBe(`${link} is a link`);
    await chmod(above, 0o775);
    expect(await findForeignStep(path, ROOT)).toBe(`${above} can be written by others`);
    await chmod(above, 0o1777);
    expect(await findForeignStep(path, ROOT)).toBeNull();
    expect(await findForeignStep(above, ROOT)).toBe(`${above} can be written by others`); // sticky, but itself meant
    expect(await findForeignStep(join(path, 'absent'), ROOT)).toContain('cannot be inspected');
  });

  test.each([
    ['file of somebody else', async (path: string) => lchown(join(path, 'bin/program'), NOBODY, 0)],
    ['file that others can write', async (path: string) => chmod(join(path, 'bin/program'), 0o666)],
    ['folder that others can write', async (path: string) => chmod(join(path, 'bin'), 0o1777)],
    [
      'link of somebody else',
      async (path: string) => {
        symlinkSync('/bin/true', join(path, 'bin/link'));
        await lchown(join(path, 'bin/link'), NOBODY, NOBODY);
      },
    ],
  ])('with a %s in it is not all of its owner', async (_what, change) => {
    const { dir, path } = made();
    using _dir = dir;
    await change(path);
    expect(await findForeignEntry(path, 0)).toContain(join(path, 'bin'));
  });
});
