import { expect, test } from 'vitest';
import { chunks, pairChunks, weighedChunks } from './chunks.ts';

test('items go into statements in order, none with more than its limit, and none empty', () => {
  expect(chunks([])).toEqual([]);
  expect(chunks([1, 2, 3], 3)).toEqual([[1, 2, 3]]);
  expect(chunks([1, 2, 3, 4], 3)).toEqual([[1, 2, 3], [4]]);
  expect(chunks(Array.from({ length: 1_001 })).map(({ length }) => length)).toEqual([500, 500, 1]);
});

test('a heavy item is a part by itself, and the others fill theirs', () => {
  const parts = (...items: number[]) => [...weighedChunks(items, { weigh: (n) => n, most: 10 })];
  expect(parts()).toEqual([]);
  expect(parts(5, 5, 1)).toEqual([[5, 5], [1]]);
  expect(parts(1, 50, 2, 3)).toEqual([[1], [50], [2, 3]]);
});

test('names and versions in two lists are never many of both', () => {
  const named = (count: number, versionOf: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => ({ name: `p${n}`, version: versionOf(n) }));
  const sizes = (items: readonly { name: string; version: string }[]) =>
    pairChunks(items).map(({ length }) => length);
  expect(sizes(named(1_001, () => '1'))).toEqual([500, 500, 1]);
  expect(sizes(named(1_001, (n) => `${n}`).map((one) => ({ ...one, name: 'p' })))).toEqual([500, 500, 1]);
  expect(sizes(named(130, (n) => `${n}`))).toEqual([64, 64, 2]);
  expect(pairChunks(named(300, (n) => `${n % 3}`)).flat()).toHaveLength(300);
});
