import { describe, expect, test } from 'vitest';
import {
  type AgentsApp,
  call,
  createAgentsApp,
  enrol,
  eventTypes,
  HOST,
  makeRegistrationToken,
  renewal,
} from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';

const REGISTER = '/api/v1/agents/register';
const TOKENS = '/api/v1/admin/registration-tokens';
const DAY_MS = 86_400_000;

async function register(it: AgentsApp, token: string | undefined, machineId?: string) {
  return call(it, 'POST', REGISTER, {
    ...(token === undefined ? {} : { token }),
    machineId,
    body: HOST,
  });
}

describe.each(ENGINES)('enrolment on $name', (engine) => {
  test('a registration token enrols a host, which is bound and can renew immediately (R1, R2)', async () => {
    const it = createAgentsApp(await engine.open());
    const answer = await register(it, await makeRegistrationToken(it), 'machine-1');
    expect(answer.status).toBe(201);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(Object.keys(answer.body).sort()).toEqual(
      [
        'access_token',
        'agent_id',
        'check_in_interval_seconds',
        'expires_in',
        'key_set',
        'keys',
        'refresh_expires_at',
        'refresh_token',
      ].sort(),
    );
    expect(answer.body.expires_in).toBe(900);
    expect(Date.parse(answer.body.refresh_expires_at) - it.platform.now()).toBe(90 * DAY_MS);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED']);
    expect((await renewal(it, answer.body.refresh_token)).status).toBe(200);
  });

  test('50 concurrent registrations share three seats: three hosts join, no seat is given twice', async () => {
    const it = createAgentsApp(await engine.open());
    const token = await makeRegistrationToken(it, 3);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => register(it, token, `machine-${n}`)),
    );
    expect(answers.filter((a) => a.status === 201)).toHaveLength(3);
    const refused = answers.filter((a) => a.status !== 201);
    expect(new Set(refused.map((a) => a.code))).toEqual(new Set(['registration_token_invalid']));
    const { body } = await call(it, 'GET', TOKENS, { token: 'admin' });
    expect(body.items[0]).toMatchObject({ seats: 3, seats_used: 3 });
  });

  test('20 concurrent registrations of one machine: one agent, one seat, 19 refused (409)', async () => {
    const it = createAgentsApp(await engine.open());
    const token = await makeRegistrationToken(it, 50);
    const answers = await Promise.all(Array.from({ length: 20 }, () => register(it, token, 'machine-1')));
    expect(answers.filter((a) => a.status === 201)).toHaveLength(1);
    expect(answers.filter((a) => a.code === 'machine_already_registered')).toHaveLength(19);
    expect((await call(it, 'GET', TOKENS, { token: 'admin' })).body.items[0].seats_used).toBe(1);
  });

  test('a refused registration uses no seat and changes nothing (docs/protocol/requests.md)', async () => {
    const it = createAgentsApp(await engine.open());
    await enrol(it, 'machine-1');
    const token = await makeRegistrationToken(it);
    expect((await register(it, token)).status).toBe(400);
    expect((await register(it, token, 'not visible ascii')).status).toBe(400);
    expect((await register(it, token, 'machine-1')).code).toBe('machine_already_registered');
    expect((await call(it, 'GET', TOKENS, { token: 'admin' })).body.items[0].seats_used).toBe(0);
    expect((await register(it, token, 'machine-2')).status).toBe(201);
  });

  test('an agent below the minimum version is 426: no seat, no agent, and a newer one enrols with the token', async () => {
    const it = createAgentsApp(await engine.open(), { minAgentVersion: '1.2.0' });
    const token = await makeRegistrationToken(it);
    const enrolAs = (agent_version: string, secret = token) =>
      call(it, 'POST', REGISTER, { token: secret, machineId: 'machine-1', body: { ...HOST, agent_version } });
    for (const version of ['1.1.9', '1.2.0-rc.1', 'dev']) {
      const refused = await enrolAs(version);
      expect([version, refused.status, refused.code]).toEqual([version, 426, 'agent_too_old']);
      expect(refused.body.detail).toContain('1.2.0');
    }
    expect((await call(it, 'GET', TOKENS, { token: 'admin' })).body.items[0].seats_used).toBe(0);
    expect(await it.platform.database.read.selectFrom('agents').selectAll().execute()).toEqual([]);
    expect(await eventTypes(it)).toEqual([]);
    // Callers without a valid token do not learn the accepted versions.
    expect((await enrolAs('1.1.9', 'guess')).code).toBe('registration_token_invalid');
    expect((await enrolAs('1.2.0')).status).toBe(201);
  });

  test('I23: enrolling again is 409 while the family is live; after revocation the agent keeps its id', async () => {
    const it = createAgentsApp(await engine.open());
    const first = await enrol(it, 'machine-1');
    expect((await register(it, await makeRegistrationToken(it), 'machine-1')).status).toBe(409);
    await call(it, 'POST', `/api/v1/agents/${first.agent_id}/revoke`, { token: 'admin' });
    const again = await enrol(it, 'machine-1');
    expect(again.agent_id).toBe(first.agent_id);
    expect((await renewal(it, first.refresh_token)).code).toBe('refresh_token_invalid');
    expect((await renewal(it, again.refresh_token)).status).toBe(200);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'AGENT_REVOKED', 'AGENT_ENROLLED']);
  });

  test('after reuse and after expiry the machine enrols again under the same id', async () => {
    const it = createAgentsApp(await engine.open());
    const first = await enrol(it, 'machine-1');
    const second = (await renewal(it, first.refresh_token)).body.refresh_token;
    await renewal(it, second);
    expect((await renewal(it, first.refresh_token)).status).toBe(401);
    const afterReuse = await enrol(it, 'machine-1');
    expect(afterReuse.agent_id).toBe(first.agent_id);
    it.platform.clock.advance(90 * DAY_MS);
    expect((await renewal(it, afterReuse.refresh_token)).code).toBe('refresh_token_invalid');
    const afterExpiry = await enrol(it, 'machine-1');
    expect(afterExpiry.agent_id).toBe(first.agent_id);
    expect((await renewal(it, afterReuse.refresh_token)).code).toBe('refresh_token_invalid');
    expect((await renewal(it, afterExpiry.refresh_token)).status).toBe(200);
    expect((await eventTypes(it)).filter((type) => type === 'REFRESH_TOKEN_REUSE')).toHaveLength(1);
  });

  test('a deleted host gets a new agent id', async () => {
    const it = createAgentsApp(await engine.open());
    const first = await enrol(it, 'machine-1');
    expect((await call(it, 'DELETE', `/api/v1/agents/${first.agent_id}`, { token: 'admin' })).status).toBe(
      204,
    );
    expect((await renewal(it, first.refresh_token)).code).toBe('refresh_token_invalid');
    expect((await enrol(it, 'machine-1')).agent_id).not.toBe(first.agent_id);
  });

  test('only a live registration token enrols; other credentials and withdrawn ones are 401', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it, 'machine-1');
    const url = TOKENS;
    const made = await call(it, 'POST', url, { token: 'admin', body: { label: 'l', seats: 5 } });
    expect((await register(it, undefined, 'machine-2')).code).toBe('unauthenticated');
    for (const token of [agent.access_token, agent.refresh_token, 'admin', `tgr_${'A'.repeat(43)}`]) {
      expect((await register(it, token, 'machine-2')).code).toBe('registration_token_invalid');
    }
    expect((await register(it, made.body.token, 'machine-2')).status).toBe(201);
    expect((await call(it, 'DELETE', `${url}/${made.body.id}`, { token: 'admin' })).status).toBe(204);
    expect((await register(it, made.body.token, 'machine-3')).code).toBe('registration_token_invalid');
    expect((await call(it, 'DELETE', `${url}/${made.body.id}`, { token: 'admin' })).status).toBe(404);
    const short = await makeRegistrationToken(it);
    it.platform.clock.advance(DAY_MS);
    expect((await register(it, short, 'machine-3')).code).toBe('registration_token_invalid');
  });

  test('the secret of a registration token is shown once and stored as a hash', async () => {
    const database = await engine.open();
    const it = createAgentsApp(database);
    const made = await call(it, 'POST', TOKENS, { token: 'admin', body: { label: 'web hosts' } });
    expect(made.status).toBe(201);
    expect(made.body.token).toMatch(/^tgr_[\w-]{43}$/);
    expect(made.body).toMatchObject({ label: 'web hosts', seats: 1, seats_used: 0, created_by: 'admin' });
    expect(Date.parse(made.body.expires_at) - it.platform.now()).toBe(DAY_MS);
    const { token, ...item } = made.body;
    const list = await call(it, 'GET', TOKENS, { token: 'admin' });
    expect(list.body).toEqual({ items: [item], next_cursor: null, total: 1 });
    expect((await call(it, 'GET', `${TOKENS}/${item.id}`, { token: 'admin' })).body).toEqual(item);
    const rows = await database.read.selectFrom('registration_tokens').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token.slice(4));
  });

  test('a host gets the group of its registration token; enrolling again without one keeps its group', async () => {
    const it = createAgentsApp(await engine.open());
    const make = async (body: object) =>
      (await call(it, 'POST', TOKENS, { token: 'admin', body: { label: 'x', ...body } })).body;
    const web = await make({ group: 'web' });
    expect(web.group).toBe('web');
    const { agent_id } = (await register(it, web.token, 'machine-1')).body;
    const groupOf = async () =>
      (await call(it, 'GET', `/api/v1/agents/${agent_id}`, { token: 'admin' })).body.group;
    expect(await groupOf()).toBe('web');
    for (const group of [null, 'web']) {
      await call(it, 'POST', `/api/v1/agents/${agent_id}/revoke`, { token: 'admin', body: {} });
      expect((await register(it, (await make({ group })).token, 'machine-1')).status).toBe(201);
      expect(await groupOf()).toBe('web');
    }
    expect((await call(it, 'POST', TOKENS, { token: 'admin', body: { label: 'x', group: '' } })).status).toBe(
      400,
    );
  });

  test('operators bound to groups create, see and withdraw only the registration tokens of those groups', async () => {
    const it = createAgentsApp(await engine.open());
    const token = 'admin@web,edge';
    const make = (who: string, group: string | null) =>
      call(it, 'POST', TOKENS, { token: who, body: { label: 'x', group } });
    const own = (await make(token, 'web')).body.id;
    const others = [(await make('admin', 'db')).body.id, (await make('admin', null)).body.id];
    for (const group of ['db', null]) expect((await make(token, group)).code).toBe('forbidden');
    const list = (await call(it, 'GET', TOKENS, { token })).body;
    expect([list.items.map((item: { id: string }) => item.id), list.total]).toEqual([[own], 1]);
    for (const id of others) {
      expect((await call(it, 'GET', `${TOKENS}/${id}`, { token })).code).toBe('not_found');
      expect((await call(it, 'DELETE', `${TOKENS}/${id}`, { token })).code).toBe('not_found');
    }
    expect((await call(it, 'GET', TOKENS, { token: 'admin' })).body.total).toBe(3);
    expect((await call(it, 'DELETE', `${TOKENS}/${own}`, { token })).status).toBe(204);
  });

  test('registration tokens page newest first', async () => {
    const it = createAgentsApp(await engine.open());
    for (const label of ['a', 'b', 'c']) {
      it.platform.clock.advance(1);
      await call(it, 'POST', TOKENS, { token: 'admin', body: { label } });
    }
    const one = await call(it, 'GET', `${TOKENS}?limit=2`, { token: 'admin' });
    expect(one.body.items.map((i: { label: string }) => i.label)).toEqual(['c', 'b']);
    expect(one.body.total).toBe(3);
    const two = await call(it, 'GET', `${TOKENS}?limit=2&cursor=${one.body.next_cursor}`, { token: 'admin' });
    expect(two.body.items.map((i: { label: string }) => i.label)).toEqual(['a']);
    expect(two.body.next_cursor).toBeNull();
  });
});

describe.each(ENGINES.slice(0, 1))('limits and shapes of enrolment', (sqlite) => {
  test.each([
    [{ label: 'x', seats: 0 }],
    [{ label: 'x', seats: 1.5 }],
    [{ label: '' }],
    [{ seats: 1 }],
    [{ label: 'x', owner: 'me' }],
    [{ label: 'x', expires_at: '2026-11-21T08:59:59Z' }],
    [{ label: 'x', expires_at: '2027-02-19T09:00:01Z' }],
    [{ label: 'x', expires_at: '2026-13-41T00:00:00Z' }],
  ])('a registration token of %j is 400', async (body) => {
    const it = createAgentsApp(await sqlite.open());
    expect((await call(it, 'POST', TOKENS, { token: 'admin', body })).code).toBe('invalid_request');
  });

  test('a registration token lives at most 90 days', async () => {
    const it = createAgentsApp(await sqlite.open());
    const body = { label: 'x', expires_at: '2027-02-19T09:00:00Z' };
    expect((await call(it, 'POST', TOKENS, { token: 'admin', body })).status).toBe(201);
  });

  test('registration is limited by address before anything is read, and a 429 uses no seat', async () => {
    const budgets = { agent_registration: { requests: 2, windowSeconds: 60, enabled: true } };
    const it = createAgentsApp(await sqlite.open(), { budgets });
    const token = await makeRegistrationToken(it);
    await register(it, 'guess', 'machine-1');
    await register(it, 'guess', 'machine-1');
    const refused = await call(it, 'POST', REGISTER, {
      token,
      machineId: 'machine-1',
      body: { not: 'valid' },
    });
    expect(refused.code).toBe('rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    it.platform.clock.advance(60_000);
    expect((await register(it, token, 'machine-1')).status).toBe(201);
  });
});
