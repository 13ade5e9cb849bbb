import { describe, expect, onTestFinished, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { mountAgents } from './routes.ts';

const NOBODY = '01900000-0000-7000-8000-00000000beef';

describe.each(ENGINES)('groups of hosts on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const app = createSliceApp(platform);
    mountAgents(app.routes, {
      platform,
      heldOf: async () => new Map(),
      upToDate: () => hostsUpToDate(platform),
    });
    onTestFinished(() => app.close());
    const add = async (n: number, group?: string) =>
      (await insertTestAgent(database, { n, ...(group ? { group } : {}) })).agentId;
    async function call(
      method: 'GET' | 'POST' | 'PATCH',
      url: string,
      { body, groups }: { body?: object; groups?: string } = {},
    ) {
      const headers = groups === undefined ? {} : { 'x-test-groups': groups };
      const payload = body === undefined ? {} : { payload: body };
      const answer = await app.inject({ method, url: `/api/v1${url}`, headers, ...payload });
      return { status: answer.statusCode, body: answer.json() };
    }
    const moves = async () => {
      const page = { filter: { type: 'HOST_GROUP_CHANGED' }, scope: null, limit: 100, before: null };
      const events = await listEvents(database.read, page);
      return events.map(({ agent_id, actor, content }) => ({ agent_id, actor, ...JSON.parse(content) }));
    };
    return { database, add, call, moves };
  }

  test('a host is put into a group, into another and into none, each with an event', async () => {
    const { add, call, moves } = await setUp();
    const id = await add(1);
    for (const group of ['web', 'Datenbänke am Rhein', null]) {
      const answer = await call('PATCH', `/agents/${id}`, { body: { group } });
      expect([answer.status, answer.body.id, answer.body.group]).toEqual([200, id, group]);
    }
    expect((await call('GET', `/agents/${id}`)).body.group).toBeNull();
    expect(await moves()).toEqual([
      { agent_id: id, actor: 'ada', before: 'Datenbänke am Rhein', after: null },
      { agent_id: id, actor: 'ada', before: 'web', after: 'Datenbänke am Rhein' },
      { agent_id: id, actor: 'ada', before: null, after: 'web' },
    ]);
  });

  test('a host already in the group stays there without an event', async () => {
    const { add, call, moves } = await setUp();
    const id = await add(1, 'web');
    expect((await call('PATCH', `/agents/${id}`, { body: { group: 'web' } })).status).toBe(200);
    expect(await moves()).toEqual([]);
  });

  test.each([{ group: '' }, { group: ' web' }, { group: 'a\u0007b' }, { group: 'a'.repeat(129) }, {}])(
    'refuses %j as a group',
    async (body) => {
      const { add, call } = await setUp();
      expect((await call('PATCH', `/agents/${await add(1)}`, { body })).status).toBe(400);
    },
  );

  test('many hosts move at once, and unknown ones are listed', async () => {
    const { add, call, moves } = await setUp();
    const ids = [await add(1), await add(2, 'web'), await add(3, 'db')];
    const body = { agent_ids: [...ids, NOBODY], group: 'web' };
    expect(await call('POST', '/agents/group', { body })).toEqual({
      status: 200,
      body: { moved: [ids[0], ids[2]], not_found: [NOBODY] },
    });
    expect(await moves()).toHaveLength(2);
    expect((await call('GET', '/agents?group=web')).body.total).toBe(3);
  });

  test('a request takes at most 1,000 hosts', async () => {
    const { call } = await setUp();
    const named = (count: number) =>
      Array.from({ length: count }, (_, n) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`);
    const ask = (count: number) =>
      call('POST', '/agents/group', { body: { agent_ids: named(count), group: 'web' } });
    const answer = await ask(1_000);
    expect([answer.status, answer.body.not_found.length]).toEqual([200, 1_000]);
    expect((await ask(1_001)).status).toBe(400);
  });

  test('a group-bound operator moves hosts only between its groups', async () => {
    const { add, call } = await setUp();
    const [own, other, none] = [await add(1, 'web'), await add(2, 'db'), await add(3)];
    const groups = 'web,edge';
    const ask = (group: string | null) =>
      call('POST', '/agents/group', { body: { agent_ids: [own, other, none], group }, groups });
    expect(await ask('edge')).toEqual({ status: 200, body: { moved: [own], not_found: [other, none] } });
    for (const group of ['db', null]) {
      expect((await ask(group)).body.code).toBe('forbidden');
      const one = await call('PATCH', `/agents/${own}`, { body: { group }, groups });
      expect(one.body.code).toBe('forbidden');
    }
    expect((await call('GET', '/agents?group=edge')).body.total).toBe(1);
  });

  test('the list of groups counts hosts and pending updates, pages by name, and shows a bound operator only its groups', async () => {
    const { database, add, call } = await setUp();
    for (const [n, group] of [
      [1, 'web'],
      [2, 'web'],
      [3, 'db'],
      [4, 'edge'],
    ] as const)
      await add(n, group);
    await insertTestAgent(database, { n: 5, group: 'gone', deletedAtMs: 1 });
    await add(6);
    for (const [n, state] of [
      [1, 'pending'],
      [2, 'pending'],
      [3, 'approved'],
    ] as const) {
      const agentId = `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
      await insertTestUpdate(database, { agentId, n, state, expiresAtMs: 1 });
    }
    const web = { name: 'web', hosts: 2, updates_pending: 2 };
    const db = { name: 'db', hosts: 1, updates_pending: 0 };
    const edge = { name: 'edge', hosts: 1, updates_pending: 0 };
    const first = (await call('GET', '/groups?limit=2')).body;
    expect(first).toEqual({ items: [db, edge], next_cursor: expect.any(String), total: 3 });
    const rest = (await call('GET', `/groups?limit=2&cursor=${first.next_cursor}`)).body;
    expect(rest).toEqual({ items: [web], next_cursor: null, total: 3 });
    const bound = (await call('GET', '/groups', { groups: 'web,none' })).body;
    expect(bound).toEqual({ items: [web], next_cursor: null, total: 1 });
  });
});
