import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { openKeptCache } from './kept-cache.ts';

const OTHER_UID = 12_345;
const isRoot = process.getuid?.() === 0;
/** A user other than root; only root can give them a folder. */
const uid = isRoot ? OTHER_UID : (process.getuid?.() ?? OTHER_UID);

function own(path: string): string {
  if (isRoot) chownSync(path, uid, uid);
  return path;
}

test('root keeps nothing', async () => {
  using dir = tmpDir();
  expect(await openKeptCache({ folder: dir.path, root: '/', uid: 0 })).toBeNull();
  expect(readdirSync(dir.path)).toEqual([]);
});

test('the folder of one install root is private, found again, and separate from that of another', async () => {
  using dir = tmpDir();
  const name = async (root: string) => {
    await openKeptCache({ folder: dir.path, root, uid });
    for (const made of readdirSync(dir.path)) own(join(dir.path, made));
    return openKeptCache({ folder: dir.path, root, uid });
  };
  const path = await name('/');
  expect(path).not.toBeNull();
  expect(statSync(path ?? '').mode & 0o777).toBe(0o700);
  expect(await name('/')).toBe(path);
  expect(await name('/srv/root')).not.toBe(path);
});

test.each([
  ['a link', (path: string) => symlinkSync(own(mkdir(`${path}-elsewhere`)), path)],
  ['a folder that others can enter', (path: string) => chmodSync(own(mkdir(path)), 0o755)],
  [
    'a folder of somebody else',
    (path: string) => void (isRoot ? mkdir(path) : chmodSync(mkdir(path), 0o777)),
  ],
])('%s at its path is not used', async (_, plant) => {
  using dir = tmpDir();
  await openKeptCache({ folder: dir.path, root: '/', uid });
  const path = join(dir.path, readdirSync(dir.path)[0] ?? '');
  rmSync(path, { recursive: true });
  plant(path);
  expect(await openKeptCache({ folder: dir.path, root: '/', uid })).toBeNull();
});

function mkdir(path: string): string {
  mkdirSync(path, { mode: 0o700 });
  return path;
}
