import { describe, expect, test } from 'vitest';
import { type AgentsApp, call, createAgentsApp, enrol, eventTypes, renewal } from '../testing/agents-app.ts';
import { allPages } from '../testing/all-pages.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';

const AGENTS = '/api/v1/agents';
const UNKNOWN = '01900000-0000-7000-8000-00000000ffff';

function get(it: AgentsApp, url: string) {
  return call(it, 'GET', url, { token: 'viewer' });
}

async function names(it: AgentsApp, query: string): Promise<string[]> {
  const { status, body } = await get(it, `${AGENTS}?${query}`);
  expect(status).toBe(200);
  return body.items.map((item: { hostname: string }) => item.hostname);
}

describe.each(ENGINES)('hosts on $name', (engine) => {
  test('a host shows its state, its binding and whether it is online (R1)', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const { body } = await get(it, `${AGENTS}/${agent.agent_id}`);
    expect(body).toEqual({
      id: agent.agent_id,
      hostname: 'host-1',
      group: null,
      status: 'bound',
      online: false,
      machine_id: 'machine-1',
      os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
      agent_version: '1.0.0',
      uptime_seconds: null,
      key_set_version: 0,
      check_in_interval_seconds: 60,
      enrolled_at: '2026-11-21T09:00:00.000Z',
      bound_at: '2026-11-21T09:00:00.000Z',
      last_seen_at: null,
      revoked_at: null,
      clone_suspected: null,
      tags: [],
      restarts: { services: 'unknown', reboot: 'unknown' },
      pending_updates: 0,
      held_updates: { updates: 0, security_updates: 0, first_end: null, last_end: null },
    });
    expect((await get(it, AGENTS)).body).toEqual({ items: [body], next_cursor: null, total: 1 });
  });

  test('the list pages by host name in four statements, and its pages are the whole', async () => {
    const counted = countStatements(await engine.open());
    const it = createAgentsApp(counted.database);
    for (const [n, name] of ['b', 'a', 'c', 'a', 'd'].entries()) await enrol(it, `machine-${n}`, name);
    const seen = await allPages<{ hostname: string }>(async (cursor) => {
      counted.reset();
      const { body } = await get(it, `${AGENTS}?limit=2${cursor}`);
      expect(counted.counts()).toEqual({ transactions: 0, statements: 0, reads: 4 });
      expect(body.total).toBe(5);
      return body;
    });
    expect(seen.map(({ hostname }) => hostname)).toEqual(['a', 'a', 'b', 'c', 'd']);
  });

  test('filters by text, state, system and presence', async () => {
    const database = await engine.open();
    const it = createAgentsApp(database);
    const web = await enrol(it, 'machine-1', 'Web-1.example');
    const db = await enrol(it, 'machine-2', 'db_1.example');
    const old = await enrol(it, 'special%id', 'old');
    await call(it, 'POST', `/api/admin/agents/${db.agent_id}/rebind-machine-id`, {
      token: 'admin',
      body: { reason: 'x' },
    });
    await call(it, 'POST', `${AGENTS}/${old.agent_id}/revoke`, { token: 'admin' });
    const seen = (id: string, ms: number) =>
      database.transact((tx) =>
        tx
          .insertInto('agent_presence')
          .values({ agent_id: id, last_seen_at: it.platform.now() - ms })
          .execute(),
      );
    await seen(web.agent_id, 179_999);
    await seen(db.agent_id, 180_000);
    await seen(old.agent_id, 0);
    expect(await names(it, 'q=WEB')).toEqual(['Web-1.example']);
    expect(await names(it, 'q=_')).toEqual(['db_1.example']);
    expect(await names(it, 'q=%25')).toEqual(['old']);
    expect(await names(it, 'q=nothing')).toEqual([]);
    expect(await names(it, 'status=bound')).toEqual(['Web-1.example']);
    expect(await names(it, 'status=unbound')).toEqual(['db_1.example']);
    expect(await names(it, 'status=revoked')).toEqual(['old']);
    expect(await names(it, 'os=debian')).toHaveLength(3);
    expect(await names(it, 'os=fedora')).toEqual([]);
    expect(await names(it, 'online=true')).toEqual(['Web-1.example']);
    expect((await names(it, 'online=false')).sort()).toEqual(['db_1.example', 'old']);
    const { body } = await get(it, `${AGENTS}?online=true`);
    expect([body.items[0].online, body.total]).toEqual([true, 1]);
  });

  test('E2 clears the binding and leaves an audit row with actor and reason', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const url = `/api/admin/agents/${agent.agent_id}/rebind-machine-id`;
    const answer = await call(it, 'POST', url, { token: 'admin', body: { reason: 'new mainboard' } });
    expect([answer.status, answer.body]).toEqual([
      200,
      { agent_id: agent.agent_id, machine_id: null, rebind_at: '2026-11-21T09:00:00.000Z' },
    ]);
    expect((await get(it, `${AGENTS}/${agent.agent_id}`)).body).toMatchObject({
      status: 'unbound',
      bound_at: null,
    });
    const { read } = it.platform.database;
    const row = await read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'MACHINE_REBOUND')
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ kind: 'security', actor: 'admin', agent_id: agent.agent_id });
    expect(JSON.parse(row.content)).toEqual({ reason: 'new mainboard', previous_machine_id: 'machine-1' });
    expect((await call(it, 'POST', url, { token: 'admin', body: { reason: 'again' } })).status).toBe(200);
  });

  test('E2 refuses a reason that says nothing, an unknown host and a revoked one, and writes no row then', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const url = `/api/admin/agents/${agent.agent_id}/rebind-machine-id`;
    for (const body of [
      {},
      { reason: '' },
      { reason: ' \t' },
      { reason: 'x'.repeat(1_001) },
      { reason: 'x', by: 'me' },
    ]) {
      expect((await call(it, 'POST', url, { token: 'admin', body })).code).toBe('invalid_request');
    }
    for (const id of [UNKNOWN, 'x']) {
      const other = `/api/admin/agents/${id}/rebind-machine-id`;
      expect((await call(it, 'POST', other, { token: 'admin', body: { reason: 'x' } })).code).toBe(
        'not_found',
      );
    }
    await call(it, 'POST', `${AGENTS}/${agent.agent_id}/revoke`, { token: 'admin' });
    expect((await call(it, 'POST', url, { token: 'admin', body: { reason: 'x' } })).code).toBe('conflict');
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'AGENT_REVOKED']);
  });

  test('revoking is forward only and says so once', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const url = `${AGENTS}/${agent.agent_id}/revoke`;
    const first = await call(it, 'POST', url, { token: 'admin', body: { reason: 'stolen' } });
    expect([first.status, first.body.status, first.body.online]).toEqual([200, 'revoked', false]);
    it.platform.clock.advance(5_000);
    const second = await call(it, 'POST', url, { token: 'admin' });
    expect(second.body.revoked_at).toBe(first.body.revoked_at);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'AGENT_REVOKED']);
    expect((await renewal(it, agent.refresh_token)).code).toBe('refresh_token_invalid');
  });

  test('a deleted host is gone from every list and path', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    expect((await call(it, 'DELETE', `${AGENTS}/${agent.agent_id}`, { token: 'admin' })).status).toBe(204);
    expect((await call(it, 'DELETE', `${AGENTS}/${agent.agent_id}`, { token: 'admin' })).status).toBe(404);
    expect((await get(it, `${AGENTS}/${agent.agent_id}`)).status).toBe(404);
    expect((await get(it, AGENTS)).body.total).toBe(0);
    expect((await call(it, 'POST', `${AGENTS}/${agent.agent_id}/scan`, { token: 'admin' })).status).toBe(404);
    expect(await it.queued()).toEqual([]);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'AGENT_REVOKED']);
  });

  test('scan, reboot and polling are queued for the host: 202', async () => {
    const database = await engine.open();
    const it = createAgentsApp(database);
    const agent = await enrol(it);
    const act = (path: string, body?: object) =>
      call(it, 'POST', `${AGENTS}/${agent.agent_id}/${path}`, {
        token: 'admin',
        ...(body === undefined ? {} : { body }),
      });
    expect((await act('reboot')).code).toBe('conflict'); // no boot of it is known
    await database.transact((tx) => tx.updateTable('agents').set({ boot_id: 'boot-1' }).execute());
    for (const answer of [
      await act('scan'),
      await act('scan', { ecosystems: ['apt'] }),
      await act('reboot'),
      await act('polling', { interval_seconds: 300 }),
    ]) {
      expect([answer.status, Object.keys(answer.body)]).toEqual([202, ['command_id']]);
    }
    const common = { agentId: agent.agent_id, createdBy: 'admin' };
    const reboot = { boot_id: 'boot-1', warn_minutes: 5, cause: 'ordered by an operator' };
    expect(await it.queued()).toEqual([
      { ...common, action: 'scan', params: {} },
      { ...common, action: 'scan', params: { ecosystems: ['apt'] } },
      { ...common, action: 'reboot', params: reboot },
      { ...common, action: 'set_polling', params: { interval_seconds: 300 } },
    ]);
    expect((await get(it, `${AGENTS}/${agent.agent_id}`)).body.check_in_interval_seconds).toBe(300);
    expect((await act('polling', { interval_seconds: 0 })).status).toBe(400);
    expect((await act('scan', { ecosystems: ['snap'] })).status).toBe(400);
    expect((await act('reboot', { force: true })).status).toBe(400);
    await act('revoke');
    expect((await act('reboot')).code).toBe('conflict');
    expect(await it.queued()).toHaveLength(4);
  });
});

describe.each(ENGINES.slice(0, 1))('the edge of the host routes', (sqlite) => {
  test.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'cursor=x',
    'status=gone',
    'online=yes',
    'q=%00',
    'page=2',
    'q=a&q=b',
  ])('a list with %s is 400', async (query) => {
    const it = createAgentsApp(await sqlite.open());
    expect((await get(it, `${AGENTS}?${query}`)).code).toBe('invalid_request');
  });

  test('every route by every credential: only the declared role passes', async () => {
    const it = createAgentsApp(await sqlite.open());
    const agent = await enrol(it);
    const credentials = [undefined, agent.access_token, agent.refresh_token, 'viewer', 'approver', 'admin'];
    const host = `${AGENTS}/${UNKNOWN}`;
    const tokens = '/api/v1/admin/registration-tokens';
    const table: [string, 'GET' | 'POST' | 'DELETE', string, object | undefined, number[]][] = [
      ['list hosts', 'GET', AGENTS, undefined, [401, 401, 401, 200, 200, 200]],
      ['one host', 'GET', host, undefined, [401, 401, 401, 404, 404, 404]],
      ['delete', 'DELETE', host, undefined, [401, 401, 401, 403, 403, 404]],
      ['revoke', 'POST', `${host}/revoke`, undefined, [401, 401, 401, 403, 403, 404]],
      ['scan', 'POST', `${host}/scan`, undefined, [401, 401, 401, 403, 404, 404]],
      ['reboot', 'POST', `${host}/reboot`, undefined, [401, 401, 401, 403, 403, 404]],
      ['polling', 'POST', `${host}/polling`, { interval_seconds: 60 }, [401, 401, 401, 403, 403, 404]],
      [
        'rebind (E2)',
        'POST',
        `/api/admin/agents/${UNKNOWN}/rebind-machine-id`,
        { reason: 'x' },
        [401, 401, 401, 403, 403, 404],
      ],
      ['list tokens', 'GET', tokens, undefined, [401, 401, 401, 403, 403, 200]],
      ['one token', 'GET', `${tokens}/${UNKNOWN}`, undefined, [401, 401, 401, 403, 403, 404]],
      ['make a token', 'POST', tokens, { label: 'x' }, [401, 401, 401, 403, 403, 201]],
      ['withdraw a token', 'DELETE', `${tokens}/${UNKNOWN}`, undefined, [401, 401, 401, 403, 403, 404]],
      ['check-in', 'POST', `${AGENTS}/${agent.agent_id}/check-in`, undefined, [401, 200, 401, 401, 401, 401]],
      ['check-in of another', 'POST', `${host}/check-in`, undefined, [401, 404, 401, 401, 401, 401]],
    ];
    for (const [name, method, url, body, expected] of table) {
      const statuses = [];
      for (const token of credentials) {
        const { status } = await call(it, method, url, {
          ...(token === undefined ? {} : { token }),
          ...(body === undefined ? {} : { body }),
          machineId: 'machine-1',
        });
        statuses.push(status);
      }
      expect([name, statuses]).toEqual([name, expected]);
    }
  });
});
