import { expect, test } from 'vitest';
import { createImageCache, type Reported } from './image-cache.ts';

const SYSTEM = { id: 'debian', versionId: '12' };
const of = (agentId: string, digest: string | null = 'a', system = SYSTEM): Reported => ({
  ...{ agentId, ecosystem: 'apt', system, digest },
});
const named = (...names: string[]) =>
  names.map((name) => ({ name, version: '1', sourceName: name, sourceVersion: '1' }));

test('hosts with the same packages share one image, in whatever order they report them', () => {
  const cache = createImageCache();
  expect(cache.add(of('1', 'a'), named('x', 'y'))).toBe(cache.add(of('2', 'b'), named('y', 'x')));
  expect(cache.add(of('3', 'c'), named('x'))).not.toBe(cache.find(of('1', 'a')));
});

test('a report is known by its host, its digest and its system', () => {
  const cache = createImageCache();
  const image = cache.add(of('1'), named('x'));
  expect(cache.find(of('1'))).toBe(image);
  // A host cannot name the report of another as its own.
  expect(cache.find(of('2'))).toBeNull();
  expect(cache.find(of('1', 'b'))).toBeNull();
  expect(cache.find(of('1', 'a', { id: 'debian', versionId: '13' }))).toBeNull();
});

test('a report without a digest is never known', () => {
  const cache = createImageCache();
  cache.add(of('1', null), named('x'));
  expect(cache.find(of('1', null))).toBeNull();
});

test('what a pass has not met is forgotten when the next but one begins', () => {
  const cache = createImageCache();
  cache.begin();
  const kept = cache.add(of('1'), named('x'));
  cache.add(of('2'), named('y'));
  cache.begin();
  expect(cache.find(of('1'))).toBe(kept);
  cache.begin();
  expect(cache.find(of('1'))).toBe(kept);
  expect(cache.find(of('2'))).toBeNull();
});

test.each([
  ['versions', { versionsMax: 2 }],
  ['packages', { keptMax: 2 }],
])('at the limit of %s a report is read again each time', (_, limits) => {
  const cache = createImageCache(limits);
  const image = cache.add(of('1'), named('x', 'y'));
  expect(cache.add(of('2'), named('z')).packages.map((one) => one.package.name)).toEqual(['z']);
  expect(cache.find(of('2'))).toBeNull();
  expect(cache.find(of('1'))).toBe(image);
});

test('versions that hosts had are forgotten when they are many', () => {
  const cache = createImageCache({ versionsMax: 4 });
  cache.begin();
  cache.add(of('1'), named('x', 'y'));
  cache.begin();
  expect(cache.find(of('1'))).toBeNull();
  cache.add(of('1'), named('a', 'b', 'c', 'd'));
  expect(cache.find(of('1'))).not.toBeNull();
});

test('a version that a host has in many architectures is one of its packages', () => {
  const cache = createImageCache();
  expect(cache.add(of('1'), named('x', 'x', 'y')).packages.map((one) => one.package.name)).toEqual([
    'x',
    'y',
  ]);
  expect(cache.add(of('2', 'b'), named('y', 'x'))).toBe(cache.find(of('1')));
});

test.each([
  ['kept', {}],
  ['read each time', { versionsMax: 1 }],
])(
  'of a name that databases know an image has so many versions, where it is %s, and says that it is not whole',
  (_, limits) => {
    const cache = createImageCache({ ...limits, ofNameMax: 2 });
    const versions = ['1', '2', '3'].map((version) => ({
      ...{ name: `a-${version}`, version, sourceName: 'a', sourceVersion: version },
    }));
    const other = { name: 'a-doc', version: '1', sourceName: 'a', sourceVersion: '1' };
    const image = cache.add(of('1'), [...versions, other, ...named('b')]);
    expect(image.packages.map((one) => one.package.name)).toEqual(['a-1', 'a-2', 'a-doc', 'b']);
    expect(image.isWhole).toBe(false);
    expect(cache.add(of('2'), [...versions.slice(1), ...named('b')]).isWhole).toBe(true);
  },
);
