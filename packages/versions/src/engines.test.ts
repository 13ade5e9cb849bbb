import { expect, test } from 'vitest';
import { allowsNode } from './engines.ts';

test.each([
  ['>=18', '20.11.1', true],
  ['>=22', '20.11.1', false],
  ['^18 || ^20', 'v20.11.1', true],
  ['^18 || ^22', '20.11.1', false],
  ['>= 0.4.x < 0.7.0', '20.11.1', false],
  ['', '20.11.1', true],
  ['*', '20.11.1', true],
  ['>=24', '24.0.0-nightly', true],
  ['whatever', '20.11.1', true],
  [`>=${'9'.repeat(300)}`, '20.11.1', true],
])('engines.node %s and Node %s: %s', (range, node, expected) => {
  expect(allowsNode(range, node)).toBe(expected);
});
