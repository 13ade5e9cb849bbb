import { expect, test } from 'vitest';
import { rebootFault } from './author-rules.ts';

test.each([
  ['admin', 'always', null],
  ['admin', 'needed', null],
  ['approver', 'always', '/reboot'],
  ['approver', 'needed', '/reboot'],
  ['approver', 'never', null],
  ['viewer', 'needed', '/reboot'],
] as const)('of an author who is %s, a policy that reboots %s: %s', (role, when, path) => {
  expect(rebootFault({ reboot: { when, warn_minutes: 0 } }, { role })?.path ?? null).toBe(path);
});

test('a policy without the member needs no admin', () => {
  expect(rebootFault({}, { role: 'approver' })).toBeNull();
});
