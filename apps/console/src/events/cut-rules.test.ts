import { expect, test } from 'vitest';
import { cutOf } from './cut-rules.ts';

test.each<[string, unknown, { listed: number; total: number } | null]>([
  ['a bulk approval of many', { updates: ['a', 'b'], update_count: 1_234 }, { listed: 2, total: 1_234 }],
  ['one that names them all', { updates: ['a', 'b'], update_count: 2 }, null],
  ['many that were blocked', { blocked: [{}], count: 3 }, { listed: 1, total: 3 }],
  ['another event', { count: 3 }, null],
  ['what is no object', 'text', null],
  ['nothing', null, null],
])('%s', (_, content, expected) => {
  expect(cutOf(content)).toEqual(expected);
});
