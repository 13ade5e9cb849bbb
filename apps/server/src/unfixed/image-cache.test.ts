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
