import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { basicCredential, hashSecret, isSecret, makeSecret } from './credentials.ts';

const ID = '01900000-0000-7000-8000-00000000beef';
const SECRET = makeSecret(randomBytes);
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  ['ours', basic(`${ID}:${SECRET}`)],
  ['the scheme in other letters', basic(`${ID}:${SECRET}`).replace('Basic', 'bAsIc')],
])('%s is read', (_, header) => {
  expect(basicCredential(header)).toEqual({ id: ID, secret: SECRET });
});

test.each([
  ['no header', undefined],
  ['another scheme', `Bearer ${SECRET}`],
  ['no base64', 'Basic ?'],
  ['no colon', basic(ID + SECRET)],
  ['no user', basic(`:${SECRET}`)],
  ['a user that is no id', basic(`core:${SECRET}`)],
  ['a password that is no secret', basic(`${ID}:password`)],
  ['a secret and more', basic(`${ID}:${SECRET}x`)],
  ['a secret of another kind', basic(`${ID}:${SECRET.replace('tgf_', 'tgr_')}`)],
  ['far more than ours', basic(`${ID}:${'x'.repeat(10_000)}`)],
])('%s is none', (_, header) => {
  expect(basicCredential(header)).toBeNull();
});

test('a secret is known by its hash alone', () => {
  expect(isSecret(SECRET, hashSecret(SECRET))).toBe(true);
  expect(isSecret(makeSecret(randomBytes), hashSecret(SECRET))).toBe(false);
  expect(isSecret(SECRET, SECRET)).toBe(false);
});
