import { expect, test } from 'vitest';
import { matchShortcut, SEQUENCE_MS } from './shortcut-rules.ts';

const ACTIONS = [
  { shortcut: 'a', isAllowed: false },
  { shortcut: 'a', isAllowed: true },
  { shortcut: 'g u', isAllowed: true },
  { shortcut: '?', isAllowed: true },
];

test.each([
  ['a', null, { kind: 'run', index: 1 }],
  ['g', null, { kind: 'wait' }],
  ['u', { key: 'g', atMs: 0 }, { kind: 'run', index: 2 }],
  ['u', { key: 'g', atMs: -SEQUENCE_MS - 1 }, { kind: 'none' }],
  ['u', null, { kind: 'none' }],
  ['a', { key: 'g', atMs: 0 }, { kind: 'run', index: 1 }],
  ['?', null, { kind: 'run', index: 3 }],
  ['z', null, { kind: 'none' }],
])('the key %s after %j: %j', (key, before, expected) => {
  expect(matchShortcut(ACTIONS, { before, now: { key, atMs: 0 } })).toEqual(expected);
});
