import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createOperatorTokens, SESSION_LIFETIME_SECONDS } from './operator-tokens.ts';

const SECRET = Buffer.alloc(32, 7);

function setUp() {
  let nowMs = Date.parse('2026-11-22T09:00:00Z');
  const tokens = createOperatorTokens({ secret: SECRET, now: () => nowMs });
  const owner = { operatorId: randomUUID(), sessionId: randomUUID() };
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { tokens, owner, advance };
}

test('a verified token is remembered until it expires', async () => {
  const { tokens, owner, advance } = setUp();
  const token = await tokens.issue(owner);
  expect(await tokens.verify(token)).toEqual({ ok: true, ...owner });
  advance(SESSION_LIFETIME_SECONDS * 1_000 - 1);
  expect(await tokens.verify(token)).toEqual({ ok: true, ...owner });
  advance(1);
  expect(await tokens.verify(token)).toEqual({ ok: false, code: 'access_token_expired' });
});

test('a remembered token does not admit one with another signature, claims or length', async () => {
  const { tokens, owner } = setUp();
  const token = await tokens.issue(owner);
  await tokens.verify(token);
  const [head = '', claims = '', signature = ''] = token.split('.');
  const other = await tokens.issue({ ...owner, operatorId: randomUUID() });
  for (const forged of [
    `${head}.${claims}.${'A'.repeat(signature.length)}`,
    `${head}.${other.split('.')[1]}.${signature}`,
    `${token}${'A'.repeat(4_096)}`,
    token.slice(0, -1),
  ]) {
    expect(await tokens.verify(forged)).toEqual({ ok: false, code: 'access_token_invalid' });
  }
});

test('the oldest is evicted, and verified again', async () => {
  const { tokens, owner } = setUp();
  const token = await tokens.issue(owner);
  await tokens.verify(token);
  for (let n = 0; n < 1_001; n++)
    await tokens.verify(await tokens.issue({ ...owner, sessionId: randomUUID() }));
  expect(await tokens.verify(token)).toEqual({ ok: true, ...owner });
});
