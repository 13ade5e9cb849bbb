import { expect, test } from 'vitest';
import { countsAsFactor, groupsIn, numbered, usernameIn } from './claim-rules.ts';

test.each([
  [{ groups: ['a', 1, 'b', 'x'.repeat(257)] }, 'groups', { kind: 'groups', groups: ['a', 'b'] }],
  [{ groups: 'a' }, 'groups', { kind: 'groups', groups: ['a'] }],
  [{ realm_access: { roles: ['a'] } }, 'realm_access.roles', { kind: 'groups', groups: ['a'] }],
  [{ 'https://x.example/groups': ['a'] }, 'https://x.example/groups', { kind: 'groups', groups: ['a'] }],
  [{}, 'constructor.name', { kind: 'missing' }],
  [{ _claim_names: { groups: 'src1' } }, 'groups', { kind: 'elsewhere' }],
])('groups of %j by %s: %j', (claims, name, found) => {
  expect(groupsIn(claims, name)).toEqual(found);
});

test.each([
  [{ preferred_username: 'Ada Lovelace' }, 'ada-lovelace'],
  [{ email: 'ada@x.example', sub: '1' }, 'ada@x.example'],
  [{ preferred_username: '<script>' }, 'script'],
  [{ preferred_username: '🦆' }, 'operator'],
  [{ preferred_username: 'x'.repeat(100) }, 'x'.repeat(64)],
])('the name of %j is %s', (claims, name) => {
  expect(usernameIn(claims, 'preferred_username')).toBe(name);
  expect(numbered(name, 12)).toMatch(/^.{1,61}-12$/u);
});

test.each([
  [{ acr: 'urn:two' }, true],
  [{ amr: ['pwd', 'mfa'] }, true],
  [{ acr: 'urn:one', amr: ['pwd'] }, false],
  [{ amr: 'mfa' }, false],
  [{}, false],
])('%j counts as a second factor: %s', (claims, counts) => {
  expect(countsAsFactor(claims, ['mfa', 'urn:two'])).toBe(counts);
});
