import { createHmac } from 'node:crypto';
import { createClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import { describe, expect, test } from 'vitest';
import { createAccessTokens } from './access-tokens.ts';

const secret = Buffer.alloc(48, 7);
const agentId = '01900000-0000-7000-8000-000000000001';
const familyId = '01900000-0000-7000-9000-000000000001';
const START_MS = Date.UTC(2026, 10, 21);

function setUp(verifiedMaxBytes = 1_048_576) {
  const clock = createClock(START_MS);
  const ids = createIds(clock);
  const random = (n: number) => Buffer.from(ids.bytes(n));
  return { clock, tokens: createAccessTokens({ secret, now: clock.now, random, verifiedMaxBytes }) };
}

function forge(header: object, claims: object, key: Buffer = secret): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part(header)}.${part(claims)}`;
  return `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`;
}

const HEADER = { alg: 'HS256', typ: 'JWT' };
const iat = START_MS / 1_000;
const CLAIMS = {
  iss: 'tidegate',
  aud: 'agent',
  sub: agentId,
  fam: familyId,
  iat,
  exp: iat + 900,
  jti: 'one',
};

describe('access tokens (R2; docs/protocol/requests.md)', () => {
  test('a token carries exactly the specified claims and lives 15 minutes', async () => {
    const { tokens } = setUp();
    const { token, expiresInSeconds } = await tokens.issue({ agentId, familyId });
    const [header = '', claims = ''] = token.split('.');
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual(HEADER);
    const parsed = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(parsed).toEqual({ ...CLAIMS, jti: expect.any(String) });
    expect(expiresInSeconds).toBe(900);
    expect(await tokens.verify(token)).toEqual({ ok: true, agentId, familyId });
    const other = await tokens.issue({ agentId, familyId });
    expect(other.token).not.toBe(token);
  });

  test('a cached token is accepted at once, and still expires', async () => {
    const { tokens, clock } = setUp();
    const { token } = await tokens.issue({ agentId, familyId });
    expect(tokens.verify(token)).toBeInstanceOf(Promise);
    await tokens.verify(token);
    expect(tokens.verify(token)).toEqual({ ok: true, agentId, familyId });
    clock.advance(899_999);
    expect(tokens.verify(token)).toMatchObject({ ok: true });
    clock.advance(1);
    expect(await tokens.verify(token)).toEqual({ ok: false, code: 'access_token_expired' });
  });

  test('the cache compares whole tokens: one that differs in a character is verified', async () => {
    const { tokens } = setUp();
    const { token } = await tokens.issue({ agentId, familyId });
    await tokens.verify(token);
    for (const other of [`x${token.slice(1)}`, `x${token}`, token.slice(1)]) {
      expect(tokens.verify(other)).toBeInstanceOf(Promise);
      expect(await tokens.verify(other)).toEqual({ ok: false, code: 'access_token_invalid' });
    }
    expect(tokens.verify(token)).toEqual({ ok: true, agentId, familyId });
  });

  test('an uncached token expires too', async () => {
    const { tokens, clock } = setUp();
    const { token } = await tokens.issue({ agentId, familyId });
    clock.advance(900_000);
    expect(await tokens.verify(token)).toEqual({ ok: false, code: 'access_token_expired' });
  });

  test('a cache without room verifies again, and still answers for whom the token was issued', async () => {
    const { tokens } = setUp(0);
    const owners = Array.from({ length: 40 }, (_, i) => ({
      agentId: agentId.replace(/01$/, `${10 + i}`),
      familyId: familyId.replace(/01$/, `${50 + i}`),
    }));
    const issued = [];
    for (const owner of owners) issued.push({ owner, token: (await tokens.issue(owner)).token });
    for (let round = 0; round < 2; round++) {
      for (const { owner, token } of issued)
        expect(await tokens.verify(token)).toEqual({ ok: true, ...owner });
    }
    const known = issued.filter(({ token }) => !(tokens.verify(token) instanceof Promise));
    expect([known.length > 0, known.length < 40]).toEqual([true, true]);
    for (const { owner, token } of known) expect(tokens.verify(token)).toEqual({ ok: true, ...owner });
  });

  test('a forged copy of the claims verifies only as a control of this table', async () => {
    const { tokens } = setUp();
    expect(await tokens.verify(forge(HEADER, CLAIMS))).toMatchObject({ ok: true });
  });

  test.each<[string, string]>([
    ['no token', 'x'],
    ['another secret', forge(HEADER, CLAIMS, Buffer.alloc(48, 8))],
    ['no signature', `${forge(HEADER, CLAIMS).split('.').slice(0, 2).join('.')}.`],
    ['alg none', forge({ alg: 'none', typ: 'JWT' }, CLAIMS)],
    ['alg HS512 in the header', forge({ alg: 'HS512', typ: 'JWT' }, CLAIMS)],
    ['alg RS256 in the header', forge({ alg: 'RS256', typ: 'JWT' }, CLAIMS)],
    ['another type', forge({ alg: 'HS256', typ: 'at+jwt' }, CLAIMS)],
    ['no type', forge({ alg: 'HS256' }, CLAIMS)],
    ['an unknown critical header', forge({ ...HEADER, crit: ['x'], x: 1 }, CLAIMS)],
    ['an own key in the header', forge({ ...HEADER, jwk: { kty: 'oct', k: 'AA' } }, CLAIMS, Buffer.alloc(1))],
    ['another issuer', forge(HEADER, { ...CLAIMS, iss: 'other' })],
    ['the audience of operators', forge(HEADER, { ...CLAIMS, aud: 'operator' })],
    ['no audience', forge(HEADER, { ...CLAIMS, aud: undefined })],
    ['no expiry', forge(HEADER, { ...CLAIMS, exp: undefined })],
    ['no time of issue', forge(HEADER, { ...CLAIMS, iat: undefined })],
    ['no family', forge(HEADER, { ...CLAIMS, fam: undefined })],
    ['no token id', forge(HEADER, { ...CLAIMS, jti: undefined })],
    ['a subject that is no agent id', forge(HEADER, { ...CLAIMS, sub: 'admin' })],
    ['a family that is no id', forge(HEADER, { ...CLAIMS, fam: 'x' })],
  ])('%s is access_token_invalid', async (_, token) => {
    const { tokens } = setUp();
    expect(await tokens.verify(token)).toEqual({ ok: false, code: 'access_token_invalid' });
    expect(tokens.verify(token)).toBeInstanceOf(Promise);
  });

  test('a token of 3,000 characters is access_token_invalid before anything is computed', () => {
    const { tokens } = setUp();
    const token = forge(HEADER, { ...CLAIMS, more: 'x'.repeat(3_000) });
    expect(tokens.verify(token)).toEqual({ ok: false, code: 'access_token_invalid' });
  });
});
