import { expect, test } from 'vitest';
import { parseLockfile } from '../ecosystems/npm/lockfile.ts';
import type { DiskTree } from '../ecosystems/npm/tree.ts';
import { isSameTree, splitTree, treeDifference } from './npm-tree-rules.ts';

const lock = parseLockfile(
  JSON.stringify({
    lockfileVersion: 3,
    packages: {
      'node_modules/a': { version: '1.0.0' },
      'node_modules/a/node_modules/b': { version: '2.0.0' },
    },
  }),
);
const expected = lock.ok ? lock.value.entries : new Map();
const WHOLE = { 'node_modules/a': 'a 1.0.0', 'node_modules/a/node_modules/b': 'b 2.0.0' };

function diskOf(packages: Record<string, string>, rest: Partial<DiskTree> = {}): DiskTree {
  const entries = Object.entries(packages).map(([location, said]) => {
    const [name = '', version = ''] = said.split(' ');
    return [location, { location, name, version }] as const;
  });
  return { packages: new Map(entries), links: new Set(), faults: [], ...rest };
}

test.each<[string, DiskTree, string | null]>([
  ['the whole of it', diskOf(WHOLE), null],
  ['one lacking', diskOf({ 'node_modules/a': 'a 1.0.0' }), 'node_modules/a/node_modules/b is not there'],
  [
    'another version',
    diskOf({ ...WHOLE, 'node_modules/a': 'a 1.0.1' }),
    'node_modules/a is a 1.0.1, not a 1.0.0',
  ],
  [
    'another package',
    diskOf({ ...WHOLE, 'node_modules/a': 'x 1.0.0' }),
    'node_modules/a is x 1.0.0, not a 1.0.0',
  ],
  ['one too many', diskOf({ ...WHOLE, 'node_modules/c': 'c 1.0.0' }), 'node_modules/c is there as well'],
  ['a link', diskOf(WHOLE, { links: new Set(['node_modules/l']) }), 'node_modules/l is a link'],
  ['a fault', diskOf(WHOLE, { faults: ['unreadable'] }), 'unreadable'],
])('a tree after an installation, %s', (_title, disk, difference) => {
  expect(treeDifference(expected, disk)).toBe(difference);
});

test('packages below one package are distinguished from all others', () => {
  const { own, others } = splitTree(diskOf({ ...WHOLE, 'node_modules/ab': 'ab 1.0.0' }), ['node_modules/a']);
  expect([...own.packages.keys()]).toEqual(Object.keys(WHOLE));
  expect([...others.packages.keys()]).toEqual(['node_modules/ab']);
  expect(isSameTree(own, diskOf(WHOLE))).toBe(true);
  expect(isSameTree(own, others)).toBe(false);
});
