import { randomBytes } from 'node:crypto';
import { parseOptions } from '@node-rs/argon2';
import { expect, test } from 'vitest';
import { createPasswords } from './passwords.ts';

const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 };

test('hashes are argon2id with 19 MiB, two passes and one lane, salted', async () => {
  const passwords = createPasswords({ random: randomBytes });
  const hashed = await passwords.hash('secret');
  expect(hashed).toMatch(/^\$argon2id\$v=19\$/);
  expect(parseOptions(hashed)).toMatchObject({ memoryCost: 19_456, timeCost: 2, parallelism: 1 });
  expect(await passwords.hash('secret')).not.toBe(hashed);
  expect(await passwords.verify(hashed, 'secret')).toBe(true);
  expect(await passwords.verify(hashed, 'Secret')).toBe(false);
});

test('an unknown operator costs a verification and never matches', async () => {
  const passwords = createPasswords({ random: () => Buffer.from('known'), cost: cheap });
  expect(await passwords.verify(null, 'known')).toBe(false);
});

test('many logins queue, and beyond the queue they get Retry-After', async () => {
  const passwords = createPasswords({ random: randomBytes, cost: cheap });
  const crowd = Array.from({ length: 50 }, () => passwords.hash('secret'));
  const outcomes = await Promise.allSettled(crowd);
  expect(outcomes.filter((o) => o.status === 'fulfilled')).toHaveLength(34);
  expect(outcomes.find((o) => o.status === 'rejected')).toMatchObject({ reason: { code: 'unavailable' } });
  expect(await passwords.hash('secret')).toContain('argon2id');
});
