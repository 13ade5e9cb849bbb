import { describe, expect, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { ENGINES } from '../testing/engines.ts';
import { ADMIN, createOperatorApp } from '../testing/operator-app.ts';
import { prepareFirstOperator } from './first-operator.ts';
import { countOperators } from './store.ts';

const SETUP = '/api/v1/auth/setup';
const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe.each(ENGINES)('on $name', (engine) => {
  async function fresh() {
    const app = await createOperatorApp(engine, { withAdmin: false });
    if (app.first.kind !== 'link') throw new Error('expected a link');
    return { ...app, path: app.first.path, secret: app.first.path.slice('/setup/'.length) };
  }

  test('the link holds 128 random bits and makes one admin, once', async () => {
    const { send, secret, logIn, database } = await fresh();
    expect(Buffer.from(secret, 'base64url')).toHaveLength(16);
    const made = await send('POST', SETUP, { payload: { secret, ...ADMIN } });
    expect([made.statusCode, made.json()]).toEqual([
      201,
      { id: expect.any(String), username: 'root', role: 'admin', groups: null },
    ]);
    const again = await send('POST', SETUP, {
      payload: { secret, username: 'second', password: 'two long passwords' },
    });
    expect([again.statusCode, again.json().code]).toEqual([404, 'not_found']);
    await logIn();
    const [event] = await listEvents(database.read, {
      filter: { type: 'OPERATOR_CHANGED' },
      scope: null,
      limit: 10,
      before: null,
    });
    expect(event).toMatchObject({ actor: 'setup link', kind: 'security' });
  });

  test('the page is a form without script that makes the operator, and is gone once one exists', async () => {
    const { send, path, logIn } = await fresh();
    const page = await send('GET', path);
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('<form method="post">');
    expect(page.body).not.toContain('<script');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    const payload = 'username=root&password=correct+horse+battery&repeated=correct+horse+battery';
    const made = await send('POST', path, { headers: form, payload });
    expect([made.statusCode, made.headers.location]).toEqual([303, '/welcome']);
    const cookies = [made.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] ?? '');
    const session = await send('GET', '/api/v1/auth/session', { headers: { cookie: cookies.join('; ') } });
    expect(session.json().operator).toMatchObject({ username: 'root', role: 'admin' });
    await logIn();
    for (const [tried, status] of [
      [path, 404],
      [`${path}/`, 404],
      // Requests are strict: a query is refused whether the page is there or not.
      [`${path}?x=1`, 400],
      [path.replace('/setup', '//setup'), 404],
      ['/setup/x', 404],
      ['/setup/', 404],
    ] as const) {
      expect([tried, (await send('GET', tried)).statusCode]).toEqual([tried, status]);
      expect([tried, (await send('POST', tried, { headers: form, payload })).statusCode]).toEqual([
        tried,
        status,
      ]);
    }
  });

  test.each([
    ['username=a&password=one-long-password&repeated=two-long-passwords', 'The two passwords differ.'],
    ['username=%3Cb%3E&password=one-long-password&repeated=one-long-password', 'value="&#60;b&#62;"'],
    ['username=a&password=short&repeated=short', 'a password 15 to 256 characters'],
    ['username=a&username=b&password=one-long-password&repeated=one-long-password', 'A username has 1 to 64'],
    ['', 'A username has 1 to 64'],
  ])('the form %j is shown again and leaves the link open', async (payload, shown) => {
    const { send, path, database, secret } = await fresh();
    const answer = await send('POST', path, { headers: form, payload });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain(shown);
    expect(await countOperators(database.read)).toBe(0);
    expect((await send('POST', SETUP, { payload: { secret, ...ADMIN } })).statusCode).toBe(201);
  });

  test('the link dies after an hour', async () => {
    const { send, path, secret, clock } = await fresh();
    clock.advance(3_600_000 - 1);
    expect((await send('GET', path)).statusCode).toBe(200);
    clock.advance(1);
    expect((await send('GET', path)).statusCode).toBe(404);
    expect((await send('POST', SETUP, { payload: { secret, ...ADMIN } })).statusCode).toBe(404);
  });

  test('of several links used at once, one makes an operator', async () => {
    const { send, secret, platform, passwords, database } = await fresh();
    const second = await prepareFirstOperator(platform, { passwords, configured: null });
    const secrets = [secret, second.kind === 'link' ? second.path.slice('/setup/'.length) : ''];
    const uses = [...secrets, ...secrets].map((s, i) =>
      send('POST', SETUP, { payload: { secret: s, username: `op${i}`, password: 'one long password' } }),
    );
    const codes = (await Promise.all(uses)).map((r) => r.statusCode).sort();
    expect(codes).toEqual([201, 404, 404, 404]);
    expect(await countOperators(database.read)).toBe(1);
  });

  test('the environment makes the first operator, and is ignored once one exists', async () => {
    const { platform, passwords, logIn, send, database } = await createOperatorApp(engine);
    await logIn();
    const other = { username: 'other', password: 'one long password' };
    expect(await prepareFirstOperator(platform, { passwords, configured: other })).toEqual({
      kind: 'exists',
    });
    expect(await prepareFirstOperator(platform, { passwords, configured: null })).toEqual({ kind: 'exists' });
    expect((await send('POST', '/api/v1/auth/login', { payload: other })).statusCode).toBe(401);
    expect(await countOperators(database.read)).toBe(1);
  });

  test('neither the log nor the database holds the secret or a password', async () => {
    const { send, secret, platform, database } = await fresh();
    await send('POST', SETUP, { payload: { secret, ...ADMIN } });
    await send('POST', '/api/v1/auth/login', { payload: ADMIN });
    const rows = [
      await database.read.selectFrom('setup_links').selectAll().execute(),
      await database.read.selectFrom('operators').selectAll().execute(),
      await database.read.selectFrom('events').selectAll().execute(),
      platform.lines,
    ];
    const text = JSON.stringify(rows);
    expect(text).toContain('$argon2id$v=19$');
    expect(text).not.toContain(secret);
    expect(text).not.toContain(ADMIN.password);
  });
});
