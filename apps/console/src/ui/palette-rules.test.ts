import { expect, test } from 'vitest';
import { FOUND_RANK, rankOf } from './palette-rules.ts';

test.each([
  ['log out', 'Log out', 1],
  ['log out', 'Rollouts', 0],
  ['keys', 'Signing keys', 0.8],
  ['olls', 'Reboots', 0],
  ['out', 'Rollouts', 0.3],
  ['account out', 'Log out', 0.3],
  [' Hosts ', 'Hosts', 1],
])('%j finds %s by %d', (text, label, rank) => {
  expect(rankOf(text, [label, label === 'Log out' ? 'Account' : 'Go to'])).toBe(rank);
});

test('what the server found stands between the two', () => {
  expect(FOUND_RANK).toBeGreaterThan(rankOf('out', ['Rollouts']));
  expect(FOUND_RANK).toBeLessThan(rankOf('keys', ['Signing keys']));
});
