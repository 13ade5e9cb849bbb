import { expect, test } from 'vitest';
import { methodsIn, passkeyIn, proofsIn, waitIn } from './methods-rules.ts';

test.each([
  [{ methods: ['totp', 'recovery_code'] }, ['totp', 'recovery_code']],
  [{ methods: ['recovery_code', 'passkey'] }, ['passkey', 'recovery_code']],
  [{ methods: ['carrier pigeon'] }, []],
  [{ methods: 'totp' }, []],
  [{}, []],
  [null, []],
])('the factors in %j are %j', (members, methods) => {
  expect(methodsIn(members)).toEqual(methods);
});

test.each([
  [{ methods: ['password'] }, ['password']],
  [{ methods: ['totp', 'recovery_code'] }, ['totp', 'recovery_code']],
  [{ methods: 'password' }, []],
  [null, []],
])('the proofs in %j are %j', (members, methods) => {
  expect(proofsIn(members)).toEqual(methods);
});

test.each([
  [{ passkey: { challenge_id: 'c', options: { a: 1 } } }, { challenge_id: 'c', options: { a: 1 } }],
  [{ passkey: { challenge_id: 1, options: {} } }, null],
  [{ passkey: { challenge_id: 'c', options: null } }, null],
  [{ passkey: { challenge_id: 'c' } }, null],
  [{ passkey: 'c' }, null],
  [{ passkey: null }, null],
  [null, null],
])('the challenge in %j is %j', (members, options) => {
  expect(passkeyIn(members)).toEqual(options);
});

test.each([
  [{ retry_after_seconds: 40 }, 40],
  [{ retry_after_seconds: 0.5 }, 1],
  [{ retry_after_seconds: -1 }, 0],
  [{ retry_after_seconds: '40' }, 0],
  [null, 0],
])('%j asks to wait %d seconds', (members, seconds) => {
  expect(waitIn(members)).toBe(seconds);
});
