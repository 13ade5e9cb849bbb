import { describe, expect, test } from 'vitest';
import { allPages } from '../testing/all-pages.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { insertHostRows } from '../testing/foreign-hosts.ts';
import { createTestApp } from '../testing/test-app.ts';
import { appendEvent, hashOfEvent, type NewEvent } from './append-event.ts';

const AGENT = '01900000-0000-7000-8000-0000000000a1';
const OVERRIDE: NewEvent = {
  kind: 'system',
  type: 'supply_chain_override',
  severity: 'warning',
  component: 'security',
  agentId: AGENT,
  actor: 'admin',
  content: {
    package: { ecosystem: 'apt', name: 'x', version: '1' },
    cause: 'test',
    reason: 'needed',
    actor: 'admin',
  },
};

async function open(engine: TestEngine) {
  const app = await createTestApp(engine);
  const authorization = `Bearer ${await app.adminToken()}`;
  app.platform.clock.advance(61_000);
  const get = async (query: string) => {
    const answer = await app.http.inject({ url: `/api/v1/events${query}`, headers: { authorization } });
    return { status: answer.statusCode, body: answer.json() };
  };
  const append = (event: NewEvent) =>
    app.platform.database.transact((tx) => appendEvent(tx, app.platform, event));
  return { app, get, append };
}

describe.each(ENGINES)('E9 on $name', (engine) => {
  test('the list works in both directions, page by page, and a cursor is valid for its own direction', async () => {
    const { get, append } = await open(engine);
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await append(OVERRIDE));
    for (const [sort, expected] of [
      ['created_at', ids],
      ['-created_at', ids.toReversed()],
    ] as const) {
      const first = await get(`?type=supply_chain_override&sort=${sort}&limit=3`);
      const cursor: string = first.body.next_cursor;
      const second = await get(`?type=supply_chain_override&sort=${sort}&limit=3&cursor=${cursor}`);
      const seen = [...first.body.items, ...second.body.items].map(({ id }: { id: string }) => id);
      expect([seen, first.body.total, second.body.next_cursor]).toEqual([expected, 5, null]);
      expect((await get(`?limit=3&kind=system&cursor=${cursor}`)).status).toBe(400);
    }
  });

  test('what administrators change is listed apart from logins and updates', async () => {
    const { app, get, append } = await open(engine);
    await append(OVERRIDE);
    const authorization = `Bearer ${await app.adminToken()}`;
    const payload = { username: 'vera', password: 'a long enough password', role: 'viewer' };
    await app.http.inject({
      method: 'POST',
      url: '/api/v1/admin/operators',
      headers: { authorization },
      payload,
    });
    const { body } = await get('?about=administration&limit=1');
    expect(body.items).toMatchObject([{ type: 'OPERATOR_CHANGED', content: { username: 'vera' } }]);
    const types = (await get('?about=administration')).body.items.map(({ type }: { type: string }) => type);
    expect(types).not.toContain('supply_chain_override');
    expect(types).not.toContain('LOGIN_SUCCEEDED');
    expect((await get('?about=administration&type=supply_chain_override')).body.total).toBe(0);
    expect((await get('?about=everything')).status).toBe(400);
  });

  test.each([
    ['q=CHAIN_over', 1],
    ['q=ADM&type=supply_chain_override', 1],
    ['q=%25', 0],
    ['q=nothing', 0],
    ['q=adm&type=supply_chain_override&kind=security', 0],
  ])('%s finds %i by a part of the type or the actor', async (query, count) => {
    const { get, append } = await open(engine);
    await append(OVERRIDE);
    expect((await get(`?${query}`)).body.total).toBe(count);
  });

  test('an event has exactly the form of the wire, in the list and by its id', async () => {
    const { app, get, append } = await open(engine);
    const { agentId } = await insertHostRows(app.platform, { n: 1, group: null });
    const named = { ...OVERRIDE, agentId };
    const id = await append(named);
    const { body } = await get('?type=supply_chain_override');
    const event = {
      id,
      kind: 'system',
      type: 'supply_chain_override',
      severity: 'warning',
      component: 'security',
      agent_id: agentId,
      hostname: 'host-1',
      actor: 'admin',
      content: OVERRIDE.content,
      created_at: new Date(app.platform.now()).toISOString(),
      position: expect.any(Number),
      previous_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    };
    expect(body).toEqual({ items: [event], next_cursor: null, total: 1 });
    expect(await get(`/${id}`)).toEqual({ status: 200, body: event });
    expect((await get(`/${AGENT}`)).status).toBe(404);
  });

  test('positions are consecutive from 1, and a filter shows where it omitted some', async () => {
    const { get, append } = await open(engine);
    await append({ ...OVERRIDE, type: 'update_approved' });
    for (let n = 0; n < 2; n++) await append(OVERRIDE);
    const positionsOf = async (query: string): Promise<number[]> =>
      (await get(query)).body.items.map(({ position }: { position: number }) => position);
    const all = await positionsOf('?sort=created_at');
    expect(all).toEqual(all.map((_, i) => i + 1));
    const last = all.length;
    expect(await positionsOf('?type=update_approved')).toEqual([last - 2]);
    expect(await positionsOf('?type=supply_chain_override')).toEqual([last, last - 1]);
  });

  test('operators bound to groups, who see a part of the chain, get no positions', async () => {
    const { app } = await open(engine);
    const { agentId, eventId } = await insertHostRows(app.platform, { n: 1, group: 'ours' });
    const bound = { username: 'bound', password: 'a long enough password' };
    const made = await app.http.inject({
      method: 'POST',
      url: '/api/v1/admin/operators',
      headers: { authorization: `Bearer ${await app.adminToken()}` },
      payload: { ...bound, role: 'viewer', groups: ['ours'] },
    });
    expect(made.statusCode).toBe(201);
    const login = await app.http.inject({ method: 'POST', url: '/api/v1/auth/login', payload: bound });
    const headers = { authorization: `Bearer ${login.json().token}` };
    const list = (await app.http.inject({ url: '/api/v1/events', headers })).json();
    const one = (await app.http.inject({ url: `/api/v1/events/${eventId}`, headers })).json();
    expect([list.items, one.agent_id]).toEqual([[one], agentId]);
    expect(one).not.toHaveProperty('position');
  });

  test('each hash covers its row and the hash before it', async () => {
    const { app, get, append } = await open(engine);
    await append(OVERRIDE);
    const rows = await app.platform.database.read
      .selectFrom('events')
      .selectAll()
      .orderBy('position')
      .execute();
    expect(rows.length).toBeGreaterThan(2);
    for (const [i, { hash, ...row }] of rows.entries()) {
      expect(row.previous_hash).toBe(rows[i - 1]?.hash ?? null);
      expect(hashOfEvent(row)).toBe(hash);
    }
    const shown: { hash: string }[] = (await get('')).body.items;
    expect(shown.map(({ hash }) => hash)).toEqual(rows.map(({ hash }) => hash).reverse());
  });

  test.each([
    ['kind=system', 1],
    ['kind=security', 3],
    ['kind=system&type=supply_chain_override&severity=warning&component=security', 1],
    [`agent_id=${AGENT}`, 1],
    ['severity=critical', 0],
    ['type=LOGIN_SUCCEEDED', 1],
    ['since=2026-11-21T09:01:01Z', 1],
    ['until=2026-11-21T09:01:01Z', 3],
    ['since=2026-11-21T09:00:00Z&until=2026-11-21T09:00:00Z', 0],
  ])('%s means %i of them', async (query, total) => {
    const { get, append } = await open(engine);
    await append(OVERRIDE);
    const { body } = await get(`?${query}`);
    expect([body.total, body.items.length]).toEqual([total, total]);
  });

  test('pages have no gap and no repetition while events are added', async () => {
    const { get, append } = await open(engine);
    for (let i = 0; i < 5; i++) await append({ ...OVERRIDE, content: { i } });
    const seen = await allPages<{ id: string }>(async (cursor) => {
      const { body } = await get(`?limit=2${cursor}`);
      await append(OVERRIDE);
      return body;
    });
    expect(seen).toHaveLength(8);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(8);
  });
});
