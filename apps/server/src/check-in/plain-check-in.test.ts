import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CheckInAnswer, RegisterAnswer } from '@tidegate/protocol/agent-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';

const HANDLED = 'tracing:fastify.request.handler:start';
const MACHINE = 'machine-1';
const facts = {
  agent_version: '0.1.0',
  boot_id: 'boot-1',
  uptime_seconds: 60,
  received: [],
  key_set_version: 1,
  inventory_digest: {},
};

const Members = Type.Record(Type.String(), Type.Unknown());
const members = (value: unknown) => Value.Parse(Members, value);

async function setUp(engine: TestEngine) {
  const app = await createTestApp(engine, { host: '127.0.0.1', port: 0 });
  const url = await app.listen();
  const admin = { authorization: `Bearer ${await app.adminToken()}`, 'content-type': 'application/json' };
  const json = async (path: string, headers: Record<string, string>, body: unknown) => {
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: members(await answer.json()) };
  };
  const seat = await json('/api/v1/admin/registration-tokens', admin, { label: 'x' });
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
  const registered = await json(
    '/api/v1/agents/register',
    {
      authorization: `Bearer ${seat.body.token}`,
      'x-machine-id': MACHINE,
      'content-type': 'application/json',
    },
    { hostname: 'web-1', os, agent_version: '0.1.0' },
  );
  const agent = Value.Parse(RegisterAnswer, registered.body);
  const path = `/api/v1/agents/${agent.agent_id}/check-in`;
  const headers = {
    authorization: `Bearer ${agent.access_token}`,
    'x-machine-id': MACHINE,
    'content-type': 'application/json',
  };
  let handled = 0;
  const count = () => void handled++;
  subscribe(HANDLED, count);
  onTestFinished(() => void unsubscribe(HANDLED, count));

  interface Variant {
    path?: string;
    headers?: Record<string, string>;
    body?: string;
  }
  /** The same request over a socket, to the plain route first, and directly into the framework. */
  async function both(variant: Variant = {}) {
    const payload = variant.body ?? JSON.stringify(facts);
    const to = variant.path ?? path;
    const sent = { ...headers, ...variant.headers };
    const answer = await fetch(url + to, { method: 'POST', headers: sent, body: payload });
    const byPlain = { status: answer.status, headers: answer.headers, body: members(await answer.json()) };
    const inject = await app.http.inject({ method: 'POST', url: to, headers: sent, payload });
    return {
      byPlain,
      byRoute: { status: inject.statusCode, headers: inject.headers, body: members(inject.json()) },
    };
  }
  /** The number of requests that reached the route while `work` ran. */
  async function handledBy<T>(work: () => Promise<T>): Promise<{ result: T; requests: number }> {
    const before = handled;
    const result = await work();
    return { result, requests: handled - before };
  }
  const overSocket = (body: unknown = facts) => json(path, headers, body);
  // Boot id and key set are stored, and the token is cached.
  await overSocket();
  return { app, url, agent, path, headers, both, handledBy, overSocket };
}

describe.each(ENGINES)('the check-in in front of the framework on $name', (engine) => {
  test('answers an idle check-in without the route, and as the route would', async () => {
    const { both, handledBy, overSocket } = await setUp(engine);
    const { requests } = await handledBy(() => overSocket());
    expect(requests).toBe(0);
    const { byPlain, byRoute } = await both();
    expect(Value.Check(CheckInAnswer, byPlain.body)).toBe(true);
    const { next_check_in_seconds: _, ...plain } = byPlain.body;
    const { next_check_in_seconds: __, ...route } = byRoute.body;
    expect(plain).toEqual(route);
    for (const name of ['content-type', 'x-content-type-options', 'cache-control']) {
      expect([name, byPlain.headers.get(name)]).toEqual([name, byRoute.headers[name]]);
    }
    expect(byPlain.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('parses facts as the route does: white space and order do not matter', async () => {
    const { both, handledBy } = await setUp(engine);
    const reversed = JSON.stringify(Object.fromEntries(Object.entries(facts).reverse()));
    for (const body of [JSON.stringify(facts, null, 2), reversed, JSON.stringify({ ...facts, load: [] })]) {
      const { result, requests } = await handledBy(() => both({ body }));
      // The one sent directly into the framework.
      expect([result.byPlain.status, result.byRoute.status, requests]).toEqual([200, 200, 1]);
    }
  });

  test('requests a report that the server lacks, without the route', async () => {
    const { handledBy, overSocket } = await setUp(engine);
    const { result, requests } = await handledBy(() =>
      overSocket({ ...facts, inventory_digest: { apt: 'a'.repeat(64) } }),
    );
    expect([result.status, result.body.report, requests]).toEqual([200, ['apt'], 0]);
  });

  test('leaves every request that is not plain to the route, which names the error', async () => {
    const { both, agent } = await setUp(engine);
    const other = '01900000-0000-7000-a000-00000000dead';
    const cases: [string, Parameters<typeof both>[0], number, string][] = [
      ['another machine', { headers: { 'x-machine-id': 'machine-2' } }, 403, 'unauthorized'],
      ['no token', { headers: { authorization: 'Bearer x' } }, 401, 'access_token_invalid'],
      ['another path', { path: `/api/v1/agents/${other}/check-in` }, 404, 'not_found'],
      ['a query', { path: `/api/v1/agents/${agent.agent_id}/check-in?x=1` }, 400, 'invalid_request'],
      ['unknown field', { body: JSON.stringify({ ...facts, x: 1 }) }, 400, 'invalid_request'],
      ['duplicate key', { body: '{"boot_id":"a","boot_id":"b"}' }, 400, 'invalid_request'],
      ['no JSON', { body: '{' }, 400, 'invalid_request'],
      ['cut off', { body: JSON.stringify(facts).slice(0, -1) }, 400, 'invalid_request'],
      [
        'a duplicate key',
        { body: JSON.stringify(facts).replace('{', '{"received":[],') },
        400,
        'invalid_request',
      ],
      ['four loads', { body: JSON.stringify({ ...facts, load: [1, 2, 3, 4] }) }, 400, 'invalid_request'],
      [
        'a load past the schema',
        { body: JSON.stringify({ ...facts, load: [1_000_001] }) },
        400,
        'invalid_request',
      ],
      ['negative uptime', { body: JSON.stringify({ ...facts, uptime_seconds: -1 }) }, 400, 'invalid_request'],
      ['half a second', { body: JSON.stringify({ ...facts, uptime_seconds: 0.5 }) }, 400, 'invalid_request'],
      ['other media type', { headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
      [
        'refresh token',
        { headers: { authorization: `Bearer ${agent.refresh_token}` } },
        401,
        'access_token_invalid',
      ],
    ];
    for (const [what, variant, status, code] of cases) {
      const { byPlain, byRoute } = await both(variant);
      expect([what, byPlain.status, byPlain.body.code]).toEqual([what, status, code]);
      expect([what, byRoute.status, byRoute.body.code]).toEqual([what, status, code]);
    }
  });

  test('news goes to the route once, with its body: changed facts, receipts, open commands', async () => {
    const { app, agent, handledBy, overSocket } = await setUp(engine);
    const changed = await handledBy(() => overSocket({ ...facts, boot_id: 'boot-2' }));
    expect([changed.result.status, changed.requests]).toEqual([200, 1]);
    const row = await app.platform.database.read.selectFrom('agents').select('boot_id').executeTakeFirst();
    expect(row?.boot_id).toBe('boot-2');
    const again = await handledBy(() => overSocket({ ...facts, boot_id: 'boot-2' }));
    expect([again.result.status, again.requests]).toEqual([200, 0]);

    const token = await app.adminToken();
    const scan = await app.http.inject({
      method: 'POST',
      url: `/api/v1/agents/${agent.agent_id}/scan`,
      headers: { authorization: `Bearer ${token}` },
      payload: {},
    });
    expect(scan.statusCode).toBe(202);
    const delivered = await overSocket({ ...facts, boot_id: 'boot-2' });
    expect(delivered.body.commands).toHaveLength(1);
  });

  test('a revoked agent is refused at its next request, despite its cached token (docs/protocol/requests.md)', async () => {
    const { app, agent, overSocket } = await setUp(engine);
    expect((await overSocket()).status).toBe(200);
    const revoked = await app.http.inject({
      method: 'POST',
      url: `/api/v1/agents/${agent.agent_id}/revoke`,
      headers: { authorization: `Bearer ${await app.adminToken()}` },
      payload: {},
    });
    expect(revoked.statusCode).toBe(200);
    const refused = await overSocket();
    expect([refused.status, refused.body.code]).toEqual([401, 'access_token_invalid']);
  });

  test('the route answers an expired token, and the limit counts each request once', async () => {
    const { app, overSocket } = await setUp(engine);
    app.platform.clock.advance(61_000); // past the start-up penalty and the window
    const statuses = new Map<number, number>();
    for (let i = 0; i < 62; i++) {
      // Every second one has news and is passed on after it was counted.
      const { status } = await overSocket(i % 2 === 0 ? facts : { ...facts, boot_id: `boot-${i}` });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 200: 60, 429: 2 });
    app.platform.clock.advance(900_000);
    const late = await overSocket();
    expect([late.status, late.body.code]).toEqual([401, 'access_token_expired']);
  });
});
