import { describe, expect, test } from 'vitest';
import { locationIn } from './locations.ts';
import type { StagedPackage } from './staged.ts';
import { undoneLockfile } from './undone-lockfile.ts';

const PLACE = { path: '/srv/app' };
const HEX = 'ab'.repeat(64);

const staged = (name: string, version: string, manifest: object = {}, more: object = {}): StagedPackage => ({
  ...{
    name,
    version,
    path: '/stage/x.tgz',
    artifact: { url: `https://registry.invalid/${name}.tgz`, sha512: HEX },
  },
  ...{ manifest: { name, version, ...manifest }, hasShrinkwrap: false, hasScripts: false, bundled: [] },
  ...more,
});
const down = (name: string, from: string, to: string, arch = PLACE.path) => ({
  ...{ action: 'downgrade' as const, name, arch, from_version: from, to_version: to },
});
const lock = (packages: object, more: object = {}) =>
  JSON.stringify({ lockfileVersion: 3, ...more, packages });

function packagesOf(
  text: string,
  actions: Parameters<typeof undoneLockfile>[2]['actions'],
  files: StagedPackage[],
) {
  const undone = undoneLockfile(text, PLACE, { actions, staged: files });
  return undone.ok ? JSON.parse(undone.value) : undone.reason;
}

describe('the lockfile of before an installation', () => {
  const NOW = {
    '': { name: 'app' },
    'node_modules/a': { version: '2.0.0', dev: true },
    'node_modules/b': { version: '1.0.0' },
  };

  test('has the old version with what its own package.json says, and nothing of the new one', () => {
    const manifest = {
      dependencies: { b: '^1' },
      bin: 'cli.js',
      scripts: { test: 'x' },
      engines: { node: '>=18' },
    };
    const { packages } = packagesOf(
      lock(NOW),
      [down('a', '2.0.0', '1.0.0')],
      [staged('a', '1.0.0', manifest)],
    );
    expect(packages).toEqual({
      ...NOW,
      '': {},
      'node_modules/a': {
        ...{
          version: '1.0.0',
          resolved: 'https://registry.invalid/a.tgz',
          integrity: expect.stringMatching(/^sha512-/),
        },
        ...{ dependencies: { b: '^1' }, engines: { node: '>=18' }, bin: { a: 'cli.js' } },
      },
    });
  });

  test('lacks what came new, and has neither scripts nor a second form', () => {
    const removal = { action: 'remove' as const, name: 'b', arch: PLACE.path, from_version: '1.0.0' };
    const file = staged('a', '1.0.0', {}, { hasScripts: true, hasShrinkwrap: true });
    const text = lock(NOW, { dependencies: { a: { version: '2.0.0' } } });
    const document = packagesOf(text, [down('a', '2.0.0', '1.0.0'), removal], [file]);
    expect(document.dependencies).toBeUndefined();
    expect(Object.keys(document.packages)).toEqual(['', 'node_modules/a']);
    expect(document.packages['node_modules/a']).toMatchObject({
      hasInstallScript: true,
      hasShrinkwrap: true,
    });
  });

  test('says of a bundled package that it is in the file of another', () => {
    const inner = { name: 'inner', version: '1.0.0', dependencies: { c: '1' } };
    const bundled = [{ key: 'inner@1.0.0', hasScripts: false, manifest: inner }];
    const actions = [
      down('a', '2.0.0', '1.0.0'),
      down('inner', '2.0.0', '1.0.0', `${PLACE.path}//node_modules/a/node_modules/inner`),
    ];
    const { packages } = packagesOf(lock(NOW), actions, [staged('a', '1.0.0', {}, { bundled })]);
    expect(packages['node_modules/a/node_modules/inner']).toEqual({
      ...{ version: '1.0.0', inBundle: true, dependencies: { c: '1' } },
    });
  });

  test('has the real name of a package in a folder of another name', () => {
    const actions = [down('a', '2.0.0', '1.0.0', `${PLACE.path}//node_modules/other`)];
    const { packages } = packagesOf(lock({}), actions, [staged('a', '1.0.0')]);
    expect(packages['node_modules/other']).toMatchObject({ name: 'a', version: '1.0.0' });
  });

  test.each([
    [
      'another place',
      [down('a', '2.0.0', '1.0.0', '/srv/other')],
      '/srv/other is not a location of /srv/app',
    ],
    [
      'a way out',
      [down('a', '2.0.0', '1.0.0', '/srv/app//node_modules/../../x')],
      'is not a location of /srv/app',
    ],
    ['a missing file', [down('a', '2.0.0', '0.9.0')], 'the file of a 0.9.0 is missing'],
  ])('cannot be made with %s', (_, actions, reason) => {
    expect(packagesOf(lock(NOW), actions, [staged('a', '1.0.0')])).toContain(reason);
  });

  test('cannot be made of what is no lockfile', () => {
    for (const text of ['{', '[]', '{"packages": 1}']) {
      expect(packagesOf(text, [], [])).toBe('the lockfile cannot be read');
    }
  });
});

test.each([
  ['project', '/srv/app', 'node_modules/a'],
  ['project', '/srv/app//node_modules/b/node_modules/a', 'node_modules/b/node_modules/a'],
  ['global', '/srv/app//lib/node_modules/b/node_modules/a', 'node_modules/b/node_modules/a'],
  ['global', '/srv/app//node_modules/a', null],
  ['project', '/srv/app/node_modules/a', null],
  ['project', undefined, null],
] as const)('in a %s, %s is at %s', (kind, arch, location) => {
  expect(locationIn({ kind, ...PLACE }, { name: 'a', ...(arch && { arch }) })).toBe(location);
});
