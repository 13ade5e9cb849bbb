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

test('versions that hosts had are forgotten when they are many, and what hosts have stays', () => {
  const cache = createImageCache({ versionsMax: 8 });
  cache.begin();
  const kept = cache.add(of('1'), named('x', 'y'));
  // A host that reports other versions in each pass.
  for (let pass = 0; pass < 50; pass++) {
    cache.begin();
    expect(cache.find(of('1'))).toBe(kept);
    const digest = `${pass}`;
    const rotated = cache.add(of('2', digest), named(`a${pass}`, `b${pass}`));
    expect(cache.find(of('2', digest))).toBe(rotated);
    expect(cache.add(of('3', digest), named('y', 'x'))).toBe(kept);
  }
});

test('the versions that came first are forgotten first, and only so many as have to be', () => {
  const cache = createImageCache({ versionsMax: 8 });
  const packageOf = (agentId: string, name: string) => cache.add(of(agentId, name), named(name)).packages[0];
  cache.begin();
  const [first, second, third] = ['a', 'b', 'c'].map((name) => packageOf(name, name));
  const used = packageOf('used', 'd');
  for (const _ of [1, 2]) {
    cache.begin();
    cache.find(of('used', 'd'));
  }
  // Four were known, and at most three stay.
  expect(packageOf('other', 'd')).toBe(used);
  expect(packageOf('other', 'c')).toBe(third);
  expect(packageOf('other', 'b')).toBe(second);
  expect(packageOf('other', 'a')).not.toBe(first);
});

test('hosts that have more than half of the versions are not read again', () => {
  const cache = createImageCache({ versionsMax: 4 });
  cache.begin();
  const image = cache.add(of('1'), named('x', 'y', 'z'));
  for (const _ of [1, 2, 3]) {
    cache.begin();
    expect(cache.find(of('1'))).toBe(image);
  }
});

test('an image is never taken for another whose versions were forgotten', () => {
  const cache = createImageCache({ versionsMax: 4 });
  cache.begin();
  const names = (image: { packages: readonly { package: { name: string } }[] }) =>
    image.packages.map((one) => one.package.name);
  cache.add(of('1'), named('a'));
  cache.add(of('2'), named('b'));
  for (const _ of [1, 2]) {
    cache.begin();
    cache.find(of('2'));
  }
  expect(names(cache.add(of('3'), named('c')))).toEqual(['c']);
  expect(names(cache.add(of('4'), named('d')))).toEqual(['d']);
  expect(cache.find(of('2'))?.packages.map((one) => one.package.name)).toEqual(['b']);
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
