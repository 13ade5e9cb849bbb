import { expect, test } from 'vitest';
import { rangeOf } from './selection.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];

test.each([
  ['b', 'd', ['b', 'c', 'd']],
  ['d', 'b', ['b', 'c', 'd']],
  ['c', 'c', ['c']],
  [null, 'd', ['d']],
  ['gone', 'd', ['d']],
])('from %s with Shift to %s: %j', (anchor, id, range) => {
  expect(rangeOf(IDS, { anchor, id })).toEqual(range);
});
