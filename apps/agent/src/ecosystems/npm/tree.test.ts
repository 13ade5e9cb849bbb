import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { hostRoot } from '../../testing/host-root.ts';
import { MANIFEST_MAX_BYTES, readBounded, readTree } from './tree.ts';

const pkg = (name: string, version = '1.0.0') => JSON.stringify({ name, version });

test('every package of a tree is read with its place, and nothing of npm itself', async () => {
  using host = hostRoot({
    'node_modules/a/package.json': pkg('a'),
    'node_modules/a/node_modules/b/package.json': pkg('b', '2.0.0'),
    'node_modules/@s/c/package.json': `\uFEFF{"name":"@s/c","name":"@s/c","version":"1.0.0"}`,
    'node_modules/.bin/a': '',
    'node_modules/.package-lock.json': '{}',
    'node_modules/.a-x1y2/package.json': pkg('a'),
  });
  const { packages, links, faults } = await readTree(host.root);
  expect([...packages.values()].map(({ location, version }) => [location, version]).sort()).toEqual([
    ['node_modules/@s/c', '1.0.0'],
    ['node_modules/a', '1.0.0'],
    ['node_modules/a/node_modules/b', '2.0.0'],
  ]);
  expect([links.size, faults]).toEqual([0, []]);
});

test('a folder without packages holds none', async () => {
  using dir = tmpDir();
  expect(await readTree(dir.path)).toEqual({ packages: new Map(), links: new Set(), faults: [] });
});

test.each<[string, Record<string, string>]>([
  ['a package.json that is missing', { 'node_modules/a/index.js': '' }],
  ['one that is cut off', { 'node_modules/a/package.json': '{"name":' }],
  ['one without a version', { 'node_modules/a/package.json': '{"name":"a"}' }],
  ['one that names a path', { 'node_modules/a/package.json': pkg('../a') }],
  ['a version that is a range', { 'node_modules/a/package.json': pkg('a', '^1') }],
  ['a folder that no package can be named as', { 'node_modules/a b/package.json': pkg('a') }],
  ['a file instead of node_modules', { node_modules: '' }],
])('%s is a fault', async (_title, files) => {
  using host = hostRoot(files);
  expect((await readTree(host.root)).faults).toHaveLength(1);
});

test('no link is followed, not even one to the folder above', async () => {
  using host = hostRoot({ 'node_modules/a/package.json': pkg('a') });
  symlinkSync('..', join(host.root, 'node_modules/up'));
  symlinkSync('/etc', join(host.root, 'node_modules/a/node_modules'));
  mkdirSync(join(host.root, 'node_modules/b'));
  symlinkSync('../a/package.json', join(host.root, 'node_modules/b/package.json'));
  const { packages, links, faults } = await readTree(host.root);
  expect([...packages.keys()]).toEqual(['node_modules/a']);
  expect([...links]).toEqual(['node_modules/up']);
  expect(faults).toHaveLength(2);
});

test('nesting of packages is limited', async () => {
  using host = hostRoot({});
  const deep = Array.from({ length: 40 }, () => 'node_modules/a').join('/');
  mkdirSync(join(host.root, deep), { recursive: true });
  const { faults } = await readTree(host.root);
  expect(faults.some((fault) => fault.endsWith('is nested too deep'))).toBe(true);
});

test('a pipe is never waited for, and what is too large is not read', async () => {
  using dir = tmpDir();
  execFileSync('mkfifo', [join(dir.path, 'pipe')]);
  expect(await readBounded(join(dir.path, 'pipe'), 10)).toMatchObject({ ok: false });
  writeFileSync(join(dir.path, 'large'), 'x'.repeat(MANIFEST_MAX_BYTES + 1));
  expect(await readBounded(join(dir.path, 'large'), MANIFEST_MAX_BYTES)).toMatchObject({ ok: false });
});
