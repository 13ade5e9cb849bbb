import { expect, test } from 'vitest';
import { type RingStanding, ringStop } from './promotion-rules.ts';

const DAY_MS = 86_400_000;
const standing = (change: Partial<RingStanding>): RingStanding => ({
  ...{ ring: 1, name: 'rest', isEntered: true, rolloutIds: ['x'], enteredAtMs: 0, unproven: [], rule: 'ask' },
  ...change,
});
const unproven = [{ package: 'curl', version: '8.0-1' }];

test.each<[string, Partial<RingStanding>, number, ReturnType<typeof ringStop>]>([
  ['a ring that was entered, and everything proven', {}, 0, null],
  ['a ring that was not entered', { isEntered: false }, 0, 'ring_not_entered'],
  ['a ring of which nobody knows when', { enteredAtMs: null }, 0, 'ring_not_entered'],
  ['a package that no inner ring has', { unproven }, 365 * DAY_MS, 'unproven'],
  ['one that has to wait', { unproven, rule: { wait_days: 2 } }, 2 * DAY_MS - 1, 'unproven'],
  ['one that has waited', { unproven, rule: { wait_days: 2 } }, 2 * DAY_MS, null],
  [
    'one that has waited, in a ring not entered',
    { unproven, rule: { wait_days: 2 }, isEntered: false },
    9 * DAY_MS,
    'ring_not_entered',
  ],
])('%s', (_, change, atMs, expected) => {
  expect(ringStop(standing(change), atMs)).toBe(expected);
});
