import { expect, test } from 'vitest';
import { chunks } from './chunks.ts';

test('items go into statements in their order, none of them with more than it takes, and none without any', () => {
  expect(chunks([])).toEqual([]);
  expect(chunks([1, 2, 3], 3)).toEqual([[1, 2, 3]]);
  expect(chunks([1, 2, 3, 4], 3)).toEqual([[1, 2, 3], [4]]);
  expect(chunks(Array.from({ length: 1_001 })).map(({ length }) => length)).toEqual([500, 500, 1]);
});
