import { SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { listEvents } from '../../events/store.ts';
import { ENGINES } from '../../testing/engines.ts';
import { ADMIN, createOperatorApp } from '../../testing/operator-app.ts';

const SESSION = '/api/v1/auth/session';
const OPERATORS = '/api/v1/admin/operators';

describe.each(ENGINES)('on $name', (engine) => {
  async function eventsOf(app: Awaited<ReturnType<typeof createOperatorApp>>, type: string) {
    return listEvents(app.database.read, { filter: { type }, scope: null, limit: 100, before: null });
  }

  test('a login returns a working token for eight hours, and leaves an event', async () => {
    const app = await createOperatorApp(engine);
    const answer = await app.send('POST', '/api/v1/auth/login', { payload: ADMIN });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      token: expect.stringMatching(/^ey/),
      expires_at: new Date(app.clock.now() + 8 * 3_600_000).toISOString().replace('.000Z', 'Z'),
      operator: { id: expect.any(String), username: 'root', role: 'admin', groups: null },
    });
    const headers = { authorization: `Bearer ${answer.json().token}` };
    expect((await app.send('GET', SESSION, { headers })).json().operator.username).toBe('root');
    expect(await eventsOf(app, 'LOGIN_SUCCEEDED')).toHaveLength(1);
    app.clock.advance(8 * 3_600_000);
    const late = await app.send('GET', SESSION, { headers });
    expect([late.statusCode, late.json().code]).toEqual([401, 'access_token_expired']);
  });

  test('names are case-insensitive', async () => {
    const app = await createOperatorApp(engine);
    expect((await app.logIn({ ...ADMIN, username: 'ROOT' })).token).toBeTruthy();
  });

  test('an unknown name, a wrong password and a disabled operator get the same answer', async () => {
    const app = await createOperatorApp(engine);
    const { headers } = await app.logIn();
    const gone = { username: 'gone', password: 'one long password', role: 'viewer' };
    const made = await app.send('POST', OPERATORS, { headers, payload: gone });
    const url = `${OPERATORS}/${made.json().id}`;
    await app.send('PATCH', url, { headers, payload: { disabled: true } });
    const answers = [];
    for (const payload of [
      { username: 'nobody', password: 'one long password' },
      { username: 'root', password: 'one long password' },
      { username: 'gone', password: 'one long password' },
    ]) {
      const answer = await app.send('POST', '/api/v1/auth/login', { payload });
      const { request_id: _, ...body } = answer.json();
      answers.push(body);
      expect(answer.statusCode).toBe(401);
    }
    expect(answers[0].code).toBe('unauthenticated');
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    const failures = await eventsOf(app, 'LOGIN_FAILED');
    expect(failures).toHaveLength(3);
    // A password typed into the wrong field must not reach the events.
    expect(JSON.stringify(failures)).not.toContain('nobody');
  });

  test('a burst of guesses from one address stops at ten', async () => {
    const app = await createOperatorApp(engine);
    const burst = Array.from({ length: 40 }, (_, i) =>
      app.send('POST', '/api/v1/auth/login', { payload: { username: `name${i}`, password: 'guess guess' } }),
    );
    const codes = (await Promise.all(burst)).map((r) => r.statusCode);
    expect(codes.filter((c) => c === 401)).toHaveLength(10);
    expect(codes.filter((c) => c === 429)).toHaveLength(30);
    expect(await eventsOf(app, 'LOGIN_FAILED')).toHaveLength(10);
  });

  test('a burst of guesses at one name is throttled after twenty, and each waiting address gets its turn', async () => {
    const app = await createOperatorApp(engine, { trustedProxies: ['127.0.0.1'] });
    const guess = (i: number, password: string) =>
      app.send('POST', '/api/v1/auth/login', {
        payload: { username: i % 2 ? 'root' : 'Root', password },
        headers: { 'x-forwarded-for': `192.0.2.${i}` },
      });
    const burst = await Promise.all(Array.from({ length: 30 }, (_, i) => guess(i, 'guess guess')));
    expect(burst.filter((r) => r.statusCode === 401)).toHaveLength(20);
    const limited = await guess(200, ADMIN.password);
    expect(limited.statusCode).toBe(429);
    expect(limited.headers['retry-after']).toBe('60');
    app.clock.advance(60_000);
    expect((await guess(201, ADMIN.password)).statusCode).toBe(429);
    expect((await guess(200, ADMIN.password)).statusCode).toBe(200);
  });

  test('X-Forwarded-For of an untrusted peer buys no fresh budget (reading 8)', async () => {
    const app = await createOperatorApp(engine);
    const burst = Array.from({ length: 20 }, (_, i) =>
      app.send('POST', '/api/v1/auth/login', {
        payload: { username: `name${i}`, password: 'guess guess' },
        headers: { 'x-forwarded-for': `192.0.2.${i}` },
      }),
    );
    expect((await Promise.all(burst)).filter((r) => r.statusCode === 401)).toHaveLength(10);
  });

  test('a logout ends the token at once', async () => {
    const app = await createOperatorApp(engine);
    const { headers } = await app.logIn();
    const other = await app.logIn();
    expect((await app.send('POST', '/api/v1/auth/logout', { headers })).statusCode).toBe(204);
    const after = await app.send('GET', SESSION, { headers });
    expect([after.statusCode, after.json().code]).toEqual([401, 'access_token_invalid']);
    expect((await app.send('GET', SESSION, { headers: other.headers })).statusCode).toBe(200);
  });

  test('only our own tokens of the right kind pass', async () => {
    const app = await createOperatorApp(engine);
    const { token } = await app.logIn();
    const seconds = Math.floor(app.clock.now() / 1_000);
    const [, body = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const key = Buffer.alloc(32, 7);
    const sign = (changes: object, secret: Buffer = key, alg = 'HS256') =>
      new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg }).sign(secret);
    const tokens = [
      `${none}.${body}.`,
      `${none}.${body}.${signature}`,
      await sign({ aud: 'agent' }),
      await sign({ iss: 'somebody' }),
      await sign({ exp: undefined }),
      await sign({ nbf: seconds + 60 }),
      await sign({ sid: 'x' }),
      await sign({ sid: '01900000-0000-7000-8000-000000000000' }),
      await sign({ sub: '01900000-0000-7000-8000-000000000000' }),
      await sign({}, Buffer.alloc(32, 8)),
      await sign({}, Buffer.alloc(64, 7), 'HS512'),
      'ey.ey.ey',
    ];
    for (const bad of tokens) {
      const answer = await app.send('GET', SESSION, { headers: { authorization: `Bearer ${bad}` } });
      expect([bad, answer.statusCode, answer.json().code]).toEqual([bad, 401, 'access_token_invalid']);
    }
    expect(
      (await app.send('GET', SESSION, { headers: { authorization: `Bearer ${await sign({})}` } })).statusCode,
    ).toBe(200);
    expect((await app.send('GET', SESSION)).json().code).toBe('unauthenticated');
    const basic = { authorization: 'Basic eDp5' };
    expect((await app.send('GET', SESSION, { headers: basic })).json().code).toBe('unauthenticated');
  });

  test('the cookie alone may read; changes also need the CSRF token and our own origin', async () => {
    const app = await createOperatorApp(engine);
    const { cookie, csrf } = await app.logIn();
    const status = async (headers: Record<string, string>) =>
      (await app.send('POST', '/api/v1/admin/rate-limits/reset', { headers: { cookie, ...headers } }))
        .statusCode;
    expect((await app.send('GET', SESSION, { headers: { cookie } })).statusCode).toBe(200);
    expect(await status({})).toBe(403);
    expect(await status({ 'x-csrf-token': 'wrong' })).toBe(403);
    expect(await status({ 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status({ 'x-csrf-token': csrf, 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await status({ 'x-csrf-token': csrf, origin: 'https://evil.example' })).toBe(403);
    expect(await status({ 'x-csrf-token': csrf, origin: 'null' })).toBe(403);
    expect(
      await status({ 'x-csrf-token': csrf, origin: 'http://fleet.example:8080', host: 'fleet.example:8080' }),
    ).toBe(200);
    expect(await status({ 'x-csrf-token': csrf, 'sec-fetch-site': 'same-origin' })).toBe(200);
  });

  test('the cookies are out of reach of scripts and other sites', async () => {
    const app = await createOperatorApp(engine, { secure: true });
    const answer = await app.send('POST', '/api/v1/auth/login', { payload: ADMIN });
    const [session, csrf] = [answer.headers['set-cookie']].flat();
    expect(session).toMatch(
      /^__Host-tidegate_session=ey[^;]+; Path=\/; SameSite=Strict; Secure; HttpOnly; Max-Age=28800$/,
    );
    expect(csrf).toMatch(/^__Host-tidegate_csrf=[\w-]{43}; Path=\/; SameSite=Strict; Secure; Max-Age=28800$/);
    const { cookie } = await app.logIn();
    const twice = `${cookie}; __Host-tidegate_session=ey`;
    expect((await app.send('GET', SESSION, { headers: { cookie: twice } })).statusCode).toBe(401);
  });

  test('another site cannot log a browser in', async () => {
    const app = await createOperatorApp(engine);
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await app.send('POST', '/api/v1/auth/login', { payload: ADMIN, headers })).statusCode).toBe(403);
  });

  test('limits count per operator, not per token', async () => {
    const app = await createOperatorApp(engine);
    const [a, b] = [await app.logIn(), await app.logIn()];
    const answers = [];
    for (let i = 0; i < 60; i++) {
      answers.push(await app.send('GET', '/api/v1/admin/rate-limits', { headers: a.headers }));
      answers.push(await app.send('GET', '/api/v1/admin/rate-limits', { headers: b.headers }));
    }
    expect(answers.filter((r) => r.statusCode === 200)).toHaveLength(100);
  });
});
