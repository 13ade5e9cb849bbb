import { describe, expect, test } from 'vitest';
import { judgeToken, scopesBeyond, type TokenFacts } from './token-rules.ts';

const TOKEN: TokenFacts = { role: 'approver', groups: null, expiresAtMs: 1_000, isRevoked: false };
const MAKER = { role: 'admin', groups: null, isDisabled: false } as const;

describe('a token and its creator', () => {
  test.each([
    ['as it was made', {}, {}, 0, 'active'],
    ['at its last millisecond', {}, {}, 999, 'active'],
    ['expired', {}, {}, 1_000, 'expired'],
    ['revoked', { isRevoked: true }, {}, 0, 'revoked'],
    ['revoked and expired', { isRevoked: true }, {}, 1_000, 'revoked'],
    ['of an operator who is disabled', {}, { isDisabled: true }, 0, 'suspended'],
    ['of an operator of the same role', {}, { role: 'approver' as const }, 0, 'active'],
    ['of an operator of a lower role', {}, { role: 'viewer' as const }, 0, 'suspended'],
  ])('%s', (_, token, maker, nowMs, state) => {
    expect(judgeToken({ ...TOKEN, ...token }, { ...MAKER, ...maker }, nowMs).state).toBe(state);
  });

  test('without an operator it is dead', () => {
    expect(judgeToken(TOKEN, null, 0).state).toBe('suspended');
  });

  test.each([
    [null, null, null],
    [['web'], null, ['web']],
    [null, ['web'], ['web']],
    [['web', 'db'], ['db', 'edge'], ['db']],
    [['web'], ['db'], []],
  ])('a token for %j of an operator bound to %j sees %j', (token, maker, groups) => {
    const verdict = judgeToken({ ...TOKEN, groups: token }, { ...MAKER, groups: maker }, 0);
    expect(verdict).toEqual({ state: 'active', groups });
  });
});

test.each([
  ['viewer', ['read'], []],
  ['viewer', ['read', 'approve', 'hosts', 'admin'], ['approve', 'hosts', 'admin']],
  ['approver', ['read', 'approve', 'override', 'hosts'], []],
  ['approver', ['admin'], ['admin']],
  ['admin', ['read', 'approve', 'override', 'hosts', 'admin'], []],
] as const)('%s with %j exceeds the role by %j', (role, scopes, beyond) => {
  expect(scopesBeyond(role, scopes)).toEqual(beyond);
});
