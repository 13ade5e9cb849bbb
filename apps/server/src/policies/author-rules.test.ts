import { expect, test } from 'vitest';
import { followUpFault } from './author-rules.ts';

test.each([
  ['admin', 'always', null],
  ['admin', 'needed', null],
  ['approver', 'always', '/reboot'],
  ['approver', 'needed', '/reboot'],
  ['approver', 'never', null],
  ['viewer', 'needed', '/reboot'],
] as const)('of an author who is %s, a policy that reboots %s: %s', (role, when, path) => {
  expect(followUpFault({ reboot: { when, warn_minutes: 0 } }, { role })?.path ?? null).toBe(path);
});

test.each([
  ['admin', 'needed', null],
  ['approver', 'needed', '/restart_services'],
  ['approver', 'never', null],
] as const)(
  'of an author who is %s, a policy that restarts services %s: %s',
  (role, restart_services, path) => {
    expect(followUpFault({ restart_services }, { role })?.path ?? null).toBe(path);
  },
);

test('a policy without these members needs no admin', () => {
  expect(followUpFault({}, { role: 'approver' })).toBeNull();
});
