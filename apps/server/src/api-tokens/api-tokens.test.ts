import { describe, expect, test } from 'vitest';
import { LIMIT_CLASSES } from '../platform/http/access.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';

const TOKENS = '/api/v1/admin/api-tokens';
const OPERATORS = '/api/v1/admin/operators';
const DAY_MS = 86_400_000;
const PASSWORD = 'a long enough password';
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

describe.each(ENGINES)('API tokens on $name', (engine) => {
  test('a token is shown once, stored as a hash, and acts under its own name', async () => {
    const it = await open(engine);
    const made = await it.make({ label: 'nightly build', role: 'admin', groups: ['web'], scopes: ['hosts'] });
    expect(made).toEqual({
      id: expect.any(String),
      label: 'nightly build',
      role: 'admin',
      groups: ['web'],
      scopes: ['hosts'],
      state: 'active',
      created_by: 'admin',
      created_at: expect.any(String),
      expires_at: it.inDays(30),
      last_used_at: null,
      token: expect.stringMatching(/^tg_[\w-]{43}$/),
    });
    const { token, ...item } = made;
    expect((await it.call('GET', TOKENS)).body).toEqual({ items: [item], next_cursor: null, total: 1 });
    expect(JSON.stringify(await it.rows())).not.toContain(token.slice(3));
    const { agentId } = await insertTestAgent(it.app.platform.database, { n: 1, group: 'web' });
    expect((await it.call('POST', `/api/v1/agents/${agentId}/scan`, { token, body: {} })).status).toBe(202);
    const [command] = (await it.call('GET', '/api/v1/commands')).body.items;
    expect(command.created_by).toBe('admin/nightly build');
  });

  test('it works only as a bearer token, never in the console’s cookie', async () => {
    const it = await open(engine);
    const { token } = await it.make({ role: 'viewer' });
    expect((await it.call('GET', '/api/v1/agents', { token })).status).toBe(200);
    const headers = { cookie: `tidegate_session=${token}` };
    expect((await it.app.http.inject({ url: '/api/v1/agents', headers })).statusCode).toBe(401);
  });

  test('text that only looks like a token is refused', async () => {
    const it = await open(engine);
    for (const token of ['tg_', `tg_${'A'.repeat(43)}`, `tg_${'A'.repeat(44)}`, 'tg_%00']) {
      expect([token, await it.statusWith({ token })]).toEqual([token, '401 access_token_invalid']);
    }
  });

  test('it ends when it expires, and when it is revoked', async () => {
    const it = await open(engine);
    const [late, gone] = [
      await it.make({ label: 'late', role: 'viewer', expires_at: it.inDays(0.25) }),
      await it.make({ label: 'gone', role: 'viewer' }),
    ];
    expect((await it.call('DELETE', `${TOKENS}/${gone.id}`)).status).toBe(204);
    expect((await it.call('DELETE', `${TOKENS}/${gone.id}`)).status).toBe(404);
    expect(await it.statusWith(gone)).toBe('401 access_token_invalid');
    it.app.platform.clock.advance(DAY_MS / 4 - 1);
    expect(await it.statusWith(late)).toBe('200');
    it.app.platform.clock.advance(1);
    expect(await it.statusWith(late)).toBe('401 access_token_expired');
    const { items } = (await it.call('GET', TOKENS)).body;
    expect(items.map((item: { label: string; state: string }) => [item.label, item.state])).toEqual([
      ['late', 'expired'],
    ]);
  });

  test('it is dead while its creator is disabled, demoted or deleted, and narrows with the creator’s groups', async () => {
    const it = await open(engine);
    const maker = { username: 'maker', password: PASSWORD, role: 'admin' };
    const { id } = (await it.call('POST', OPERATORS, { body: maker })).body;
    const session = await it.logIn('maker');
    const [admin, viewer] = [
      await it.make({ label: 'a', role: 'admin' }, session),
      await it.make({ label: 'v', role: 'viewer' }, session),
    ];
    const change = (body: object) => it.call('PATCH', `${OPERATORS}/${id}`, { body });
    const statuses = async () => [await it.statusWith(admin), await it.statusWith(viewer)];
    const dead = '401 access_token_invalid';
    expect(await statuses()).toEqual(['200', '200']);
    await change({ disabled: true });
    expect(await statuses()).toEqual([dead, dead]);
    await change({ disabled: false, role: 'approver' });
    expect(await statuses()).toEqual([dead, '200']);
    const { items } = (await it.call('GET', TOKENS)).body;
    expect(items.map((item: { state: string }) => item.state)).toEqual(['active', 'suspended']);
    await insertTestAgent(it.app.platform.database, { n: 1, group: 'web' });
    await insertTestAgent(it.app.platform.database, { n: 2 });
    const total = async () => (await it.call('GET', '/api/v1/agents', { token: viewer.token })).body.total;
    expect(await total()).toBe(2);
    await change({ groups: ['web'] });
    expect(await total()).toBe(1);
    expect((await it.call('DELETE', `${OPERATORS}/${id}`)).status).toBe(204);
    expect(await statuses()).toEqual([dead, dead]);
    // The revocation is permanent and known to a restore: a later operator with the same id does not revive the token.
    expect((await it.rows()).map(({ revoked_at }) => revoked_at)).toEqual(
      Array(2).fill(it.app.platform.now()),
    );
  });

  test('it can read its own identity', async () => {
    const it = await open(engine);
    const { token } = await it.make({ label: 'ci', role: 'viewer', groups: ['web'] });
    expect((await it.call('GET', '/api/v1/auth/session', { token })).body).toMatchObject({
      operator: { username: 'admin/ci', role: 'viewer', groups: ['web'] },
      expires_at: it.inDays(30).replace('.000Z', 'Z'),
    });
  });

  test('its own groups narrow it too', async () => {
    const it = await open(engine);
    await insertTestAgent(it.app.platform.database, { n: 1, group: 'web' });
    const { agentId } = await insertTestAgent(it.app.platform.database, { n: 2, group: 'db' });
    const { token } = await it.make({ role: 'admin', groups: ['web'] });
    expect((await it.call('GET', '/api/v1/agents', { token })).body.total).toBe(1);
    expect((await it.call('GET', `/api/v1/agents/${agentId}`, { token })).status).toBe(404);
    expect((await it.call('GET', '/api/v1/admin/operators', { token })).body.code).toBe('forbidden');
  });

  test('no token logs in, changes operators, tokens or factors, publishes a policy or ends a blackout, whatever its scopes', async () => {
    const it = await open(engine);
    const strongest = { role: 'admin', scopes: ['read', 'approve', 'override', 'hosts', 'admin'] };
    const { token } = await it.make(strongest);
    const routes = await it.operatorRoutes();
    const forPeople = routes.filter(
      ({ method, url }) =>
        (url.startsWith('/api/v1/auth/') && url !== '/api/v1/auth/session') ||
        (method !== 'GET' && (url.startsWith(OPERATORS) || url.startsWith(TOKENS))) ||
        // A policy outlives the token that published it. What one would do, a token may ask.
        (['POST', 'PUT'].includes(method) &&
          url.startsWith('/api/v1/policies') &&
          !/\/(preview|backtest)$/.test(url)) ||
        // What somebody withheld, no machine lets go.
        url === '/api/v1/blackouts/:id/end',
    );
    expect(forPeople.length).toBeGreaterThan(5);
    const passed: string[] = [];
    for (const { method, url } of forPeople) {
      const answer = await it.call(method, url, { token, body: {} });
      if (answer.status !== 403) passed.push(`${method} ${url}: ${answer.status}`);
    }
    expect(passed).toEqual([]);
  });

  test.each([
    ['read', (method: Method) => method === 'GET'],
    ['approve', () => true],
    ['hosts', () => true],
    ['admin', () => true],
  ] as const)('a token with only the scope %s opens only that scope’s routes', async (scope, mayBeOpen) => {
    const it = await open(engine);
    const { token } = await it.make({ role: 'admin', scopes: [scope] });
    const opened: string[] = [];
    for (const { method, url } of await it.operatorRoutes()) {
      if (url.endsWith('/stream')) continue;
      const answer = await it.call(method, url, { token, body: {} });
      if (answer.status !== 403) opened.push(`${method} ${url}`);
    }
    expect(opened.filter((route) => !mayBeOpen(route.split(' ', 1)[0] === 'GET' ? 'GET' : 'POST'))).toEqual(
      [],
    );
    const has = (route: string) => opened.some((one) => one === route.replace(':id', NOBODY));
    expect({
      read: has('GET /api/v1/updates'),
      approve: has('POST /api/v1/updates/:id/approve'),
      hosts: has('POST /api/v1/agents/:id/scan') && has('POST /api/v1/admin/registration-tokens'),
      admin: has('PUT /api/v1/admin/rate-limits') && has('GET /api/v1/admin/operators'),
    }).toEqual({ read: false, approve: false, hosts: false, admin: false, [scope]: true });
  });

  test('it overrides the gate only with the scope for overrides', async () => {
    const it = await open(engine);
    const { database } = it.app.platform;
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const { updateId } = await insertTestUpdate(database, {
      agentId,
      n: 1,
      state: 'rejected',
      expiresAtMs: 1,
    });
    const approve = async (scopes: string[] | null, label: string) => {
      const { token } = await it.make({ label, role: 'approver', scopes });
      const body = { override_supply_chain: true, override_reason: 'because' };
      const answer = await it.call('POST', `/api/v1/updates/${updateId}/approve`, { token, body });
      return answer.body.code;
    };
    expect(await approve(null, 'a')).toBe('forbidden');
    expect(await approve(['approve'], 'b')).toBe('forbidden');
    expect(await approve(['override'], 'c')).toBe('forbidden');
    // Passes the scopes, and is stopped by the state of the update.
    expect(await approve(['approve', 'override'], 'd')).toBe('conflict');
  });

  test('no token without that scope passes a block in any other way', async () => {
    const it = await open(engine);
    const ways: [string, object][] = [
      ['/api/v1/admin/age-exceptions', {}],
      [`/api/v1/artifacts/divergences/${NOBODY}/decide`, {}],
    ];
    const ask = async (scopes: string[] | null, label: string) => {
      const { token } = await it.make({ label, role: 'admin', scopes });
      return Promise.all(
        ways.map(async ([url, body]) => (await it.call('POST', url, { token, body })).body.code),
      );
    };
    expect(await ask(null, 'a')).toEqual(['forbidden', 'forbidden']);
    expect(await ask(['read', 'approve', 'hosts', 'admin'], 'b')).toEqual(['forbidden', 'forbidden']);
    expect(await ask(['override'], 'c')).toEqual(['invalid_request', 'invalid_request']);
  });

  test('it has its own budget', async () => {
    const it = await open(engine);
    const classes = { admin_reads: { requests: 3 } };
    const [one, other] = [
      await it.make({ label: 'a', role: 'viewer' }),
      await it.make({ label: 'b', role: 'viewer' }),
    ];
    await it.call('PUT', '/api/v1/admin/rate-limits', { body: { classes } });
    const codes = [];
    for (let i = 0; i < 4; i++)
      codes.push((await it.call('GET', '/api/v1/agents', { token: one.token })).status);
    expect(codes).toEqual([200, 200, 200, 429]);
    expect(await it.statusWith(other)).toBe('200');
    expect((await it.call('GET', '/api/v1/agents')).status).toBe(200);
  });

  test('its last use is recorded at most once a minute', async () => {
    const it = await open(engine);
    const { token } = await it.make({ role: 'viewer' });
    const used = async () => {
      await it.call('GET', '/api/v1/agents', { token });
      return (await it.rows())[0]?.last_used_at;
    };
    const first = it.app.platform.now();
    expect(await used()).toBe(first);
    it.app.platform.clock.advance(59_999);
    expect(await used()).toBe(first);
    it.app.platform.clock.advance(1);
    expect(await used()).toBe(first + 60_000);
  });

  test('an invalid request is refused with the faulty field', async () => {
    const it = await open(engine);
    const refused: unknown[] = [];
    const wrong: [object, string][] = [
      [{ label: '' }, '/label'],
      [{ label: 'a\nb' }, '/label'],
      [{ role: 'god' }, '/role'],
      [{ groups: [] }, '/groups'],
      [{ scopes: [] }, '/scopes'],
      [{ scopes: ['read', 'read'] }, '/scopes'],
      [{ scopes: ['everything'] }, '/scopes'],
      [{ role: 'viewer', scopes: ['approve'] }, '/scopes'],
      [{ expires_at: undefined }, ''],
      [{ expires_at: '2026-11-21T09:00:00Z' }, '/expires_at'],
      [{ expires_at: '2027-11-22T09:01:02Z' }, '/expires_at'],
    ];
    for (const [change, path] of wrong) {
      const body = { label: 'x', role: 'admin', expires_at: it.inDays(1), ...change };
      const { status, body: problem } = await it.call('POST', TOKENS, { body });
      const names = problem.errors.some((fault: { path: string }) => fault.path.includes(path));
      refused.push([status, problem.code, names]);
    }
    expect(refused).toEqual(wrong.map(() => [400, 'invalid_request', true]));
  });

  test('an operator has one live token per label, which lives at most a year', async () => {
    const it = await open(engine);
    const body = { label: 'x', role: 'viewer', expires_at: it.inDays(365) };
    const first = await it.call('POST', TOKENS, { body });
    expect(first.status).toBe(201);
    expect((await it.call('POST', TOKENS, { body })).body.code).toBe('conflict');
    await it.call('DELETE', `${TOKENS}/${first.body.id}`);
    expect((await it.call('POST', TOKENS, { body })).status).toBe(201);
  });

  test('the list pages newest first', async () => {
    const it = await open(engine);
    for (const label of ['a', 'b', 'c']) await it.make({ label, role: 'viewer' });
    const labels = (body: { items: { label: string }[] }) => body.items.map(({ label }) => label);
    const first = (await it.call('GET', `${TOKENS}?limit=2`)).body;
    expect([labels(first), first.total]).toEqual([['c', 'b'], 3]);
    const rest = (await it.call('GET', `${TOKENS}?limit=2&cursor=${first.next_cursor}`)).body;
    expect([labels(rest), rest.next_cursor]).toEqual([['a'], null]);
  });
});

const NOBODY = '01900000-0000-7000-8000-00000000beef';

async function open(engine: TestEngine) {
  const app = await createTestApp(engine);
  app.platform.clock.advance(61_000);
  const admin = await app.adminToken();

  async function call(
    method: Method,
    url: string,
    { token = admin, body }: { token?: string; body?: object } = {},
  ) {
    const headers = { authorization: `Bearer ${token}` };
    const payload = method === 'GET' || !body ? {} : { payload: body };
    const answer = await app.http.inject({ method, url, headers, ...payload });
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, body: isJson ? answer.json() : null };
  }

  async function logIn(username: string): Promise<string> {
    const payload = { username, password: PASSWORD };
    return (await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json().token;
  }

  const inDays = (days: number) => new Date(app.platform.now() + days * DAY_MS).toISOString();
  const wide = Object.fromEntries(LIMIT_CLASSES.map((name) => [name, { requests: 100_000 }]));
  await call('PUT', '/api/v1/admin/rate-limits', { body: { classes: wide } });

  return {
    app,
    call,
    logIn,
    inDays,
    async make(asked: object, token?: string) {
      const body = { label: 'x', expires_at: inDays(30), ...asked };
      const answer = await call('POST', TOKENS, { body, ...(token ? { token } : {}) });
      if (answer.status !== 201) throw new Error(`the token was refused: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async statusWith({ token }: { token: string }): Promise<string> {
      const { status, body } = await call('GET', '/api/v1/agents', { token });
      return status === 200 ? '200' : `${status} ${body.code}`;
    },
    rows: () => app.platform.database.read.selectFrom('api_tokens').selectAll().execute(),
    /** Every route of operators, with ids that do not exist. */
    async operatorRoutes(): Promise<{ method: Method; url: string }[]> {
      const { paths } = (await app.http.inject('/api/openapi.json')).json();
      const routes: { method: Method; url: string }[] = [];
      for (const [path, methods] of Object.entries<Record<string, { security: object[] }>>(paths)) {
        for (const method of METHODS) {
          const security = methods[method.toLowerCase()]?.security ?? [];
          if (!security.some((scheme) => 'operatorToken' in scheme)) continue;
          routes.push({ method, url: path.replace(/\{\w+\}/g, NOBODY) });
        }
      }
      return routes;
    },
  };
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
