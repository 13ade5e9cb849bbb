import { randomUUID } from 'node:crypto';
import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { allPages } from '../testing/all-pages.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { newestPlansOfSets } from './many-store.ts';
import { recordScan } from './record-scan.ts';
import { mountUpdates } from './routes.ts';
import { planDigest } from './store-plan.ts';
import { transitionUpdate } from './transition-update.ts';
import { setDigest } from './update-set.ts';

const sha256 = 'a'.repeat(64);
const plan = {
  resolved_at: '2026-11-21T09:00:00Z',
  actions: [
    {
      action: 'upgrade' as const,
      name: 'openssl',
      from_version: '1',
      to_version: '2',
      artifact: { filename: 'openssl.deb', url: 'https://deb.example/openssl.deb', size_bytes: 5, sha256 },
    },
  ],
};

/** The actions of a plan that upgrades these packages. */
function brings(...names: string[]) {
  return names.map((name) => ({
    ...plan.actions[0],
    action: 'upgrade' as const,
    name,
    artifact: artifactOf(name),
  }));
}

function artifactOf(name: string) {
  return { filename: `${name}.deb`, url: `https://deb.example/${name}.deb`, size_bytes: 5, sha256 };
}

describe.each(ENGINES)('updates over HTTP on $name', (engine) => {
  async function setUp({ beforeWriting = async () => {} } = {}) {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const app = createSliceApp(platform);
    const held: Database = {
      ...database,
      transact: async (work) => {
        await beforeWriting();
        return database.transact(work);
      },
    };
    mountUpdates(app.routes, {
      platform: { ...platform, database: held },
      gateOf: async (updateId) => ({ update_id: updateId, verdict: 'clear' }),
      heldOfPackages: async () => new Map(),
    });
    onTestFinished(() => app.close());
    const keys = [
      await insertTestAgent(database, { n: 1 }),
      await insertTestAgent(database, { n: 2, group: 'web' }),
    ];
    const [first = { agentId: '', familyId: '' }] = keys;
    async function scan(
      of: number,
      names: readonly string[],
      { ecosystem = 'apt', ...more }: Partial<InventoryUpdate> & { ecosystem?: Ecosystem } = {},
    ) {
      platform.clock.advance(1_000);
      const agentId = keys[of]?.agentId ?? '';
      const updates = names.map((name) => ({ name, current_version: '1', available_version: '2', ...more }));
      const scanned_at = new Date(platform.now()).toISOString();
      const report = { scanned_at, complete: true, packages: [], updates };
      return database.transact((tx) => recordScan(tx, platform, { agentId, ecosystem, report }));
    }
    const get = async (url: string, groups?: string) =>
      (await app.inject({ url, ...(groups ? { headers: { 'x-test-groups': groups } } : {}) })).json();
    const putPlan = (updateId: string, plan: object, of = first) => report({ sets: [[updateId]], plan }, of);
    async function report(body: object, of = first) {
      return app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${of.agentId}/plans`,
        headers: { 'x-machine-id': 'm', 'x-test-agent': of.agentId, 'x-test-family': of.familyId },
        payload: body,
      });
    }
    return { app, database, platform, keys, scan, get, putPlan, report };
  }

  test('the list pages by cursor without gaps or repeats, and counts all', async () => {
    const { scan, get } = await setUp();
    const names = Array.from({ length: 7 }, (_, i) => `p${i}`);
    await scan(0, names);
    const seen = await allPages<{ name: string }>(async (cursor) => {
      const page = await get(`/api/v1/updates?limit=3${cursor}`);
      expect(page.total).toBe(7);
      return page;
    });
    expect(seen.map(({ name }) => name)).toEqual(names.toReversed());
  });

  test.each([
    ['state=pending', ['a_b', 'aXb', 'Curl']],
    ['state=rejected', ['wget']],
    ['name=Curl', ['Curl']],
    ['q=cUR', ['Curl']],
    ['q=a_b', ['a_b']],
    ['security=true', ['Curl']],
    ['security=false&state=pending', ['a_b', 'aXb']],
    ['ecosystem=npm', []],
    ['group=web', ['wget']],
    ['group=Web', []],
    ['verdict=clear', []],
    ['since=2026-11-21T09:00:03Z', ['wget']],
    ['until=2026-11-21T09:00:02Z', ['a_b', 'aXb']],
  ])('the filter %s finds %j', async (query, names) => {
    const { database, platform, scan, get } = await setUp();
    await scan(0, ['a_b', 'aXb']);
    await scan(0, ['Curl'], { security: true });
    const { updates } = await scan(1, ['wget']);
    const updateId = updates[0]?.update_id ?? '';
    await database.transact((tx) =>
      transitionUpdate(tx, platform, { updateId, from: ['pending'], to: 'rejected', actor: 'ada' }),
    );
    const page = await get(`/api/v1/updates?${query}`);
    expect(page.items.map((item: { name: string }) => item.name).toSorted()).toEqual(names.toSorted());
    expect(page.total).toBe(names.length);
  });

  test.each([
    ['web', ['wget']],
    ['db,web', ['wget']],
    ['db', []],
  ])('who is bound to %s sees the updates and packages of %j alone', async (groups, names) => {
    const { scan, get } = await setUp();
    const [other] = (await scan(0, ['curl'])).updates;
    const [own] = (await scan(1, ['wget'])).updates;
    for (const list of ['updates', 'packages']) {
      const page = await get(`/api/v1/${list}`, groups);
      expect(page.items.map((item: { name: string }) => item.name)).toEqual(names);
      expect(page.total).toBe(names.length);
    }
    expect((await get('/api/v1/updates?name=curl', groups)).total).toBe(0);
    expect((await get(`/api/v1/updates/${other?.update_id}`, groups)).code).toBe('not_found');
    expect((await get(`/api/v1/updates/${own?.update_id}`, groups)).name).toBe(names[0]);
  });

  test.each(['group=', `group=${'a'.repeat(129)}`, 'group=a%0Ab', 'group=%20a', 'group=a%C2%A0b'])(
    'the query %s names no group: 400',
    async (query) => {
      const { app } = await setUp();
      expect((await app.inject(`/api/v1/updates?${query}`)).statusCode).toBe(400);
    },
  );

  test.each(['state=new', 'limit=0', 'limit=201', 'cursor=x', 'colour=red', 'security=maybe'])(
    'the query %s is 400',
    async (query) => {
      const { app } = await setUp();
      expect((await app.inject(`/api/v1/updates?${query}`)).statusCode).toBe(400);
    },
  );

  test.each(['updates', 'packages'])('a cursor of %s is for its own sort and filter alone', async (list) => {
    const { app, scan, get } = await setUp();
    await scan(0, ['a', 'b', 'c']);
    const url = `/api/v1/${list}?limit=1&state=pending&sort=name`;
    const { next_cursor: cursor, total } = await get(url);
    expect(total).toBe(3);
    expect((await get(`${url}&cursor=${cursor}`)).items.map(({ name }: { name: string }) => name)).toEqual([
      'b',
    ]);
    for (const other of ['state=pending&sort=-name', 'sort=name', 'state=failed&sort=name']) {
      const answer = await app.inject(`/api/v1/${list}?${other}&cursor=${cursor}`);
      expect([other, answer.statusCode]).toEqual([other, 400]);
      expect(answer.json().errors).toEqual([
        { path: 'querystring/cursor', message: expect.stringMatching(/sorted or filtered in another way/) },
      ]);
    }
  });

  test.each(['sort=colour', 'sort=--name', 'sort=name,state', 'exploited=maybe', 'os=a%20b', 'host=%0A'])(
    'the query %s is 400 and says what is wrong',
    async (query) => {
      const { app } = await setUp();
      const answer = await app.inject(`/api/v1/updates?${query}`);
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors[0].path).toBe(`querystring/${query.split('=')[0]}`);
    },
  );

  test.each([
    ['name', ['curl', 'openssl', 'zlib']],
    ['-name', ['zlib', 'openssl', 'curl']],
    ['-hosts', ['zlib', 'openssl', 'curl']],
    ['updates', ['curl', 'openssl', 'zlib']],
    ['-newest', ['zlib', 'openssl', 'curl']],
    ['severity', ['curl', 'zlib', 'openssl']],
    ['-severity', ['zlib', 'curl', 'openssl']],
  ])('packages sorted by %s are %j, page by page', async (sort, names) => {
    const { database, scan, get } = await setUp();
    await scan(0, ['curl', 'openssl', 'zlib']);
    await scan(1, ['openssl']);
    await scan(1, ['zlib', 'openssl']);
    await scan(0, ['zlib'], { available_version: '3' });
    for (const [name, severity] of [
      ['curl', 'critical'],
      ['zlib', 'low'],
    ] as const) {
      await database.transact((tx) =>
        tx.updateTable('updates').set({ severity }).where('name', '=', name).execute(),
      );
    }
    const seen = await allPages<{ name: string }>(async (cursor) => {
      const page = await get(`/api/v1/packages?limit=1&sort=${sort}${cursor}`);
      expect(page.total).toBe(3);
      return page;
    });
    expect(seen.map(({ name }) => name)).toEqual(names);
  });

  test('one update comes with plan, history and the verdict of the gate', async () => {
    const { scan, get, app } = await setUp();
    const { updates } = await scan(0, ['openssl'], { plan });
    const id = updates[0]?.update_id ?? '';
    expect(await get(`/api/v1/updates/${id}`)).toMatchObject({
      id,
      hostname: 'host-1',
      arch: null,
      state: 'pending',
      has_plan: true,
      plan: { plan_sha256: planDigest(plan), actions: plan.actions, resolved_at: '2026-11-21T09:00:00.000Z' },
      history: [{ from_state: null, to_state: 'pending', actor: 'scan' }],
      gate: { update_id: id, verdict: 'clear' },
    });
    const unknown = await app.inject('/api/v1/updates/01900000-0000-7000-8000-0000000000ff');
    expect(unknown.statusCode).toBe(404);
  });

  test('updates that one transaction brings know each other, and none of another transaction', async () => {
    const { scan, get, report, database, platform } = await setUp();
    const { updates } = await scan(0, [
      'libpython3.11',
      'python3.11',
      'python3.11-minimal',
      'openssl',
      'vim',
    ]);
    const idOf = (name: string) => updates.find((one) => one.name === name)?.update_id ?? '';
    const python = ['libpython3.11', 'python3.11', 'python3.11-minimal'];
    const joint = { resolved_at: plan.resolved_at, actions: brings(...python) };
    await report({ sets: python.map((name) => [idOf(name)]), plan: joint });
    await report({ sets: [[idOf('openssl')]], plan: { ...plan, actions: brings('openssl') } });
    const { items } = await get('/api/v1/updates?sort=name');
    expect(items.map((item: UpdateItem) => [item.name, item.siblings])).toEqual([
      ['libpython3.11', 2],
      ['openssl', 0],
      ['python3.11', 2],
      ['python3.11-minimal', 2],
      ['vim', null],
    ]);
    const page = async () => get(`/api/v1/updates/${idOf('python3.11')}`);
    const sibling = (name: string) => ({
      ...{ id: idOf(name), name, arch: null, state: 'pending' },
      ...{ current_version: '1', available_version: '2' },
    });
    expect(await page()).toMatchObject({
      siblings: 2,
      listed_siblings: [sibling('libpython3.11'), sibling('python3.11-minimal')],
    });
    expect((await get(`/api/v1/updates/${idOf('vim')}`)).listed_siblings).toEqual([]);

    const updateId = idOf('libpython3.11');
    await database.transact((tx) =>
      transitionUpdate(tx, platform, { updateId, from: ['pending'], to: 'rejected', actor: 'ada' }),
    );
    expect(await page()).toMatchObject({ siblings: 1, listed_siblings: [sibling('python3.11-minimal')] });
    // It shares its plan with two that are open, but is none of them.
    expect(await get(`/api/v1/updates/${idOf('libpython3.11')}`)).toMatchObject({ siblings: 2 });
  });

  test('packages are updates rolled up over hosts, paged by name', async () => {
    const { scan, get } = await setUp();
    await scan(0, ['openssl', 'curl']);
    await scan(1, ['openssl'], { available_version: '3', security: true });
    const first = await get('/api/v1/packages?limit=1');
    expect(first).toMatchObject({ total: 2, items: [{ id: 'apt/curl', hosts: 1, states: { pending: 1 } }] });
    const second = await get(`/api/v1/packages?limit=1&cursor=${first.next_cursor}`);
    expect(second.items).toEqual([
      {
        id: 'apt/openssl',
        ecosystem: 'apt',
        name: 'openssl',
        hosts: 2,
        updates: 2,
        available_versions: 2,
        newest_update_at: '2026-11-21T09:00:02.000Z',
        security: true,
        severity: null,
        known_exploited: null,
        ...{ fixes: null, fixes_severity: null, fixes_exploited: null },
        states: { pending: 2 },
        held_updates: { updates: 0, security_updates: 0, first_end: null, last_end: null },
      },
    ]);
    expect(second.next_cursor).toBeNull();
  });

  test('hosts with pending updates come with what these fix, the most urgent first', async () => {
    const { database, scan, get, app, keys } = await setUp();
    await scan(0, ['openssl', 'curl', 'zlib']);
    await scan(1, ['openssl', 'curl']);
    const fixed = { fixes: 1, fixes_severity: 'critical', fixes_exploited: 1, fix_rank: 16 };
    await database.transact(async (tx) => {
      const curl = tx.updateTable('updates').set(fixed).where('name', '=', 'curl');
      await curl.where('agent_id', '=', keys[1]?.agentId ?? '').execute();
      await tx.updateTable('updates').set({ state: 'rejected' }).where('name', '=', 'openssl').execute();
    });
    const page = await get('/api/v1/updates/by-host');
    expect(page).toMatchObject({ total: 2, next_cursor: null });
    expect(page.items).toEqual([
      expect.objectContaining({
        ...{ hostname: 'host-2', group: 'web', reboot: 'unknown', updates: 1, unjudged: 0 },
        ...{ exploited_fixes: 1, critical_fixes: 1, high_fixes: 0, fixes: 1 },
      }),
      expect.objectContaining({
        ...{ hostname: 'host-1', updates: 2, unjudged: 2 },
        ...{ exploited_fixes: 0, critical_fixes: 0, high_fixes: 0, fixes: 0 },
      }),
    ]);
    const first = await get('/api/v1/updates/by-host?limit=1&sort=updates');
    expect(first.items).toMatchObject([{ hostname: 'host-2' }]);
    const second = await get(`/api/v1/updates/by-host?limit=1&sort=updates&cursor=${first.next_cursor}`);
    expect(second.items).toMatchObject([{ hostname: 'host-1' }]);
    expect((await get('/api/v1/updates/by-host?name=zlib')).items).toMatchObject([
      { hostname: 'host-1', updates: 1 },
    ]);
    expect((await get('/api/v1/updates/by-host', 'web')).items).toMatchObject([{ hostname: 'host-2' }]);
    const refused = await app.inject('/api/v1/updates/by-host?state=installed');
    expect(refused.statusCode).toBe(400);
    expect(JSON.stringify(refused.json())).toContain('state');
  });

  test('an agent sends plans for its own updates only; an unsound plan is 400', async () => {
    const { scan, get, putPlan } = await setUp();
    const own = (await scan(0, ['openssl'])).updates[0]?.update_id ?? '';
    const foreign = (await scan(1, ['openssl'])).updates[0]?.update_id ?? '';
    expect((await putPlan(own, plan)).json()).toEqual({ plan_sha256: planDigest(plan) });
    expect((await get(`/api/v1/updates/${own}`)).plan.plan_sha256).toBe(planDigest(plan));
    expect((await putPlan(foreign, plan)).statusCode).toBe(404);
    const [action] = plan.actions;
    const { artifact: _, ...bare } = action ?? { artifact: null };
    const unsound = await putPlan(own, { ...plan, actions: [bare] });
    expect(unsound.json()).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: '/plan/actions/0/artifact' }],
    });
  });

  test('a plan of several sets is stored once, and each set finds it', async () => {
    const { database, scan, get, report } = await setUp();
    const ids = (await scan(0, ['curl', 'libcurl4', 'vim'])).updates.map(({ update_id: id }) => id);
    const [curl = '', library = '', vim = ''] = ids;
    const joint = { ...plan, actions: [...brings('curl', 'libcurl4')] };
    const sets = [[curl], [library], [curl, library]];
    const stored = (await report({ sets, plan: joint })).json().plan_sha256;
    expect(stored).toBe(planDigest(joint));
    for (const id of [curl, library]) {
      expect((await get(`/api/v1/updates/${id}`)).plan.plan_sha256).toBe(stored);
    }
    expect((await get(`/api/v1/updates/${vim}`)).plan).toBeNull();
    const plans = await database.read.selectFrom('update_plans').select('id').execute();
    expect(plans).toHaveLength(1);
    const found = await newestPlansOfSets(database.read, sets.map(setDigest));
    expect([...found]).toEqual([[setDigest([curl, library]), plans[0]?.id]]);
  });

  test('a plan of a joint set is kept for 30 days; one that an update names stays', async () => {
    const { database, platform, scan, report } = await setUp();
    const ids = (await scan(0, ['curl', 'vim', 'zsh'])).updates.map(({ update_id: id }) => id);
    const [curl = '', vim = '', zsh = ''] = ids;
    const sha256s = async () =>
      (await database.read.selectFrom('update_plans').select('plan_sha256').execute()).map(
        (row) => row.plan_sha256,
      );
    const put = async (set: string[], ...names: string[]) =>
      (await report({ sets: [set], plan: { ...plan, actions: brings(...names) } })).json().plan_sha256;
    const own = await put([curl], 'curl');
    const first = await put([curl, vim], 'curl', 'vim');
    platform.clock.advance(31 * 24 * 3_600_000);
    const second = await put([curl, vim, zsh], 'curl', 'vim', 'zsh');
    expect((await sha256s()).toSorted()).toEqual([own, second].toSorted());
    expect(first).not.toBe(second);
    expect((await newestPlansOfSets(database.read, [setDigest([curl, vim])])).size).toBe(0);
  });

  test('the plan of a joint set is not that of its members', async () => {
    const { scan, get, report } = await setUp();
    const ids = (await scan(0, ['curl', 'vim'])).updates.map(({ update_id: id }) => id);
    expect(
      (await report({ sets: [ids], plan: { ...plan, actions: brings('curl', 'vim') } })).statusCode,
    ).toBe(200);
    for (const id of ids) expect((await get(`/api/v1/updates/${id}`)).plan).toBeNull();
  });

  test.each<[string, (of: { ids: string[]; npm: string; foreign: string }) => string[][], number, object]>([
    ['a set of another host', ({ ids, foreign }) => [ids, [foreign]], 404, {}],
    [
      'an update twice',
      ({ ids: [id = ''] }) => [[id, id]],
      400,
      { path: '/sets/0', message: 'names an update twice' },
    ],
    [
      'two package managers',
      ({ ids: [id = ''], npm }) => [[id], [npm]],
      400,
      { path: '/sets', message: 'name updates of several package managers or places; allowed: one' },
    ],
    [
      'an update that the plan does not bring',
      ({ ids }) => [ids],
      400,
      { path: '/sets/0', message: 'the plan does not bring vim 2' },
    ],
    ['no set', () => [], 400, { path: '/sets' }],
    [
      'more updates than an approval may name',
      ({ ids: [id = ''] }) => Array.from({ length: 2_000 }, () => [id]).concat([[id]]),
      400,
      { path: '/sets' },
    ],
    [
      'sets that name more updates together',
      () => [0, 1].map(() => Array.from({ length: 1_001 }, () => randomUUID())),
      400,
      { path: '/sets', message: 'name 2002 updates; allowed: at most 2000' },
    ],
  ])('a plan report with %s is refused whole', async (_, sets, status, fault) => {
    const { database, scan, report } = await setUp();
    const ids = (await scan(0, ['curl', 'vim'])).updates.map(({ update_id: id }) => id);
    const npm = (await scan(0, ['curl'], { ecosystem: 'npm' })).updates[0]?.update_id ?? '';
    const foreign = (await scan(1, ['curl'])).updates[0]?.update_id ?? '';
    const answer = await report({
      sets: sets({ ids, npm, foreign }),
      plan: { ...plan, actions: brings('curl') },
    });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject(status === 400 ? { errors: [fault] } : fault);
    expect(await database.read.selectFrom('update_plans').selectAll().execute()).toEqual([]);
  });

  test('what an npm package says to be bundled in stands in its plan, or that is 400', async () => {
    const { scan, putPlan } = await setUp();
    const id = (await scan(0, ['openssl'], { ecosystem: 'npm' })).updates[0]?.update_id ?? '';
    const [around] = plan.actions;
    const inner = { ...around, name: 'inner', source_name: 'openssl', source_version: '2' };
    const unsound = await putPlan(id, { ...plan, actions: [around, { ...inner, source_version: '3' }] });
    expect(unsound.statusCode).toBe(400);
    expect(unsound.json()).toMatchObject({ errors: [{ path: '/plan/actions/1/source_name' }] });
    expect((await putPlan(id, { ...plan, actions: [around, inner] })).statusCode).toBe(200);
  });

  test('of large plans of one host one is stored at a time; the next is 503 with a time to come back', async () => {
    const gate = createGate();
    const { scan, putPlan } = await setUp({ beforeWriting: gate.pass });
    const id = (await scan(0, ['openssl'])).updates[0]?.update_id ?? '';
    const [action] = plan.actions;
    const more = Array.from({ length: 900 }, (_, n) => {
      const artifact = { ...action?.artifact, filename: `${n}.deb` };
      return { ...action, name: `p${n}`, to_version: `${n}`, artifact };
    });
    const large = { ...plan, actions: [...plan.actions, ...more] };
    const first = putPlan(id, large);
    await gate.reached;
    const refused = await putPlan(id, large);
    expect(refused.statusCode).toBe(503);
    expect(refused.json()).toMatchObject({ code: 'unavailable' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(10);
    gate.open();
    expect((await first).statusCode).toBe(200);
    expect((await putPlan(id, large)).statusCode).toBe(200);
  });
});

function createGate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass() {
      reached.resolve();
      return opened.promise;
    },
  };
}
