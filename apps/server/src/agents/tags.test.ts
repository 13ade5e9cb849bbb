import { describe, expect, onTestFinished, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { BUDGETS } from '../outsiders/budget-rules.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { activeHostsIn, hostsInScope, scopeFault, withTags } from './host-scope.ts';
import { reportTags } from './report-tags.ts';
import { mountAgents } from './routes.ts';

const NOBODY = '01900000-0000-7000-8000-00000000beef';
const some = (named: object) => ({ kind: 'some' as const, groups: [], hosts: [], ...named });

describe.each(ENGINES)('tags of hosts on $name', (engine) => {
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
      method: 'GET' | 'POST' | 'DELETE',
      url: string,
      { body, groups }: { body?: object; groups?: string } = {},
    ) {
      const headers = groups === undefined ? {} : { 'x-test-groups': groups };
      const payload = body === undefined ? {} : { payload: body };
      const answer = await app.inject({ method, url: `/api/v1${url}`, headers, ...payload });
      return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
    }
    const tag = (agent_ids: string[], set: string[], remove: string[] = [], groups?: string) =>
      call('POST', '/agents/tags', { body: { agent_ids, set, remove }, ...(groups ? { groups } : {}) });
    const report = (agentId: string, tags: string[]) => reportTags(platform, { agentId, tags });
    const tagsOf = async (id: string) => (await call('GET', `/agents/${id}`)).body.tags;
    const changes = async () => {
      const page = { filter: { type: 'HOST_TAGS_CHANGED' }, scope: null, limit: 100, before: null };
      const events = await listEvents(database.read, page);
      return events.map(({ agent_id, actor, content }) => ({ agent_id, actor, ...JSON.parse(content) }));
    };
    return { database, platform, add, call, tag, report, tagsOf, changes };
  }

  test('are set, replaced and removed, with the tags before and after as an event of each host that changes', async () => {
    const { add, tag, tagsOf, changes } = await setUp();
    const [one, two] = [await add(1), await add(2)];
    const both = { changed: [one, two], not_found: [NOBODY] };
    expect(await tag([two, one, NOBODY], ['role=db', 'env=test'])).toEqual({ status: 200, body: both });
    expect((await tag([one, two], ['env=test'])).body).toEqual({ changed: [], not_found: [] });
    expect((await tag([one], ['env=prod'], ['role', 'nothing'])).body.changed).toEqual([one]);
    expect(await tagsOf(one)).toEqual(['env=prod']);
    expect(await tagsOf(two)).toEqual(['env=test', 'role=db']);
    const first = { actor: 'ada', before: [], after: ['env=test', 'role=db'] };
    expect(await changes()).toEqual([
      { agent_id: one, actor: 'ada', before: ['env=test', 'role=db'], after: ['env=prod'] },
      { agent_id: two, ...first },
      { agent_id: one, ...first },
    ]);
  });

  test.each<[string, string[], string[]]>([
    ['nothing', [], []],
    ['a key twice', ['env=a', 'env=b'], []],
    ['a key set and removed', ['env=a'], ['env']],
    ['what hosts report', ['host.role=web'], []],
    ['the removal of what hosts report', [], ['host.role']],
    ['more than a host may have', Array.from({ length: 33 }, (_, i) => `k${i}=v`), []],
  ])('%s is refused', async (_, set, remove) => {
    const { add, tag, changes } = await setUp();
    expect((await tag([await add(1)], set, remove)).status).toBe(400);
    expect(await changes()).toEqual([]);
  });

  test('a host that would have too many leaves all hosts as they were', async () => {
    const { add, tag, tagsOf } = await setUp();
    const [one, two] = [await add(1), await add(2)];
    await tag(
      [two],
      Array.from({ length: 32 }, (_, i) => `k${i}=v`),
    );
    const refused = await tag([one, two], ['env=prod']);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(two)]);
    expect(await tagsOf(one)).toEqual([]);
  });

  test('a bound operator tags hosts of its groups only, and counts no others', async () => {
    const { add, tag, call } = await setUp();
    const [own, other, none] = [await add(1, 'web'), await add(2, 'db'), await add(3)];
    await tag([own, other, none], ['env=prod']);
    const answer = await tag([own, other, none], ['env=test'], [], 'web');
    expect(answer.body).toEqual({ changed: [own], not_found: [other, none] });
    expect((await call('GET', '/tags', { groups: 'web' })).body.items).toEqual([
      { tag: 'env=test', hosts: 1, reported: false },
    ]);
    expect((await call('GET', '/agents?tag=env%3Dprod', { groups: 'web' })).body.total).toBe(0);
  });

  test('filter hosts, and are listed page by page: what operators set, then what hosts report', async () => {
    const { add, tag, report, call } = await setUp();
    const [one, two, three] = [await add(1), await add(2), await add(3)];
    await tag([one, two], ['env=prod']);
    await tag([three], ['env=test', 'role=db']);
    await report(two, ['host.role=web']);
    const found = async (query: string) =>
      (await call('GET', `/agents?tag=${encodeURIComponent(query)}`)).body.items.map(
        (it: { id: string }) => it.id,
      );
    expect(await found('env=prod')).toEqual([one, two]);
    expect(await found('host.role=web')).toEqual([two]);
    expect(await found('env=pro')).toEqual([]);
    const listed: string[] = [];
    for (let cursor = ''; ; ) {
      const { items, next_cursor } = (await call('GET', `/tags?limit=2${cursor}`)).body;
      listed.push(...items.map((it: { tag: string; hosts: number }) => `${it.tag} ${it.hosts}`));
      if (next_cursor === null) break;
      cursor = `&cursor=${next_cursor}`;
    }
    expect(listed).toEqual(['env=prod 2', 'env=test 1', 'role=db 1', 'host.role=web 1']);
    await call('DELETE', `/agents/${three}`);
    expect((await call('GET', '/tags')).body.items).toHaveLength(2);
  });

  test('that a host reports replace what it reported, beside what operators set, with an event only for a change', async () => {
    const { add, tag, report, tagsOf, changes } = await setUp();
    const id = await add(1);
    await tag([id], ['zone=a']);
    expect(await report(id, ['host.role=web', 'host.dc=wien'])).toEqual({ ok: true });
    expect(await report(id, ['host.dc=wien', 'host.role=web'])).toEqual({ ok: true });
    expect(await tagsOf(id)).toEqual(['zone=a', 'host.dc=wien', 'host.role=web']);
    expect(await report(id, ['host.role=db'])).toEqual({ ok: true });
    expect(await tagsOf(id)).toEqual(['zone=a', 'host.role=db']);
    expect(await report(id, ['host.a=1', 'host.a=2'])).toMatchObject({ ok: false });
    const told = (await changes()).filter(({ actor }) => actor === 'agent');
    expect(told).toEqual([
      { agent_id: id, actor: 'agent', before: ['host.dc=wien', 'host.role=web'], after: ['host.role=db'] },
      { agent_id: id, actor: 'agent', before: [], after: ['host.dc=wien', 'host.role=web'] },
    ]);
  });

  test('of a host that has spent its budget of events do not change', async () => {
    const { database, platform, add, report, tagsOf } = await setUp();
    const id = await add(1);
    await report(id, ['host.role=web']);
    const day = Math.floor(platform.now() / 86_400_000);
    await database.transact((tx) =>
      tx
        .updateTable('outsider_usage')
        .set({ rows: BUDGETS.agent_events.rows })
        .where('day', '=', day)
        .execute(),
    );
    await report(id, ['host.role=db']);
    expect(await tagsOf(id)).toEqual(['host.role=web']);
  });

  test('choose the hosts of a scope; what hosts report, and rows without a seal, choose none', async () => {
    const { database, add, tag, report } = await setUp();
    const [one, two, three] = [await add(1), await add(2), await add(3)];
    await tag([one], ['env=prod', 'role=db']);
    await report(two, ['host.env=prod']);
    await writeRaw(database, 'host_tags', {
      agent_id: three,
      key: 'env',
      value: 'prod',
      set_by: 'ada',
      set_at: 1,
    });
    const hosts = [one, two, three].map((id) => ({ id, group: null }));
    const of = async (tags: string[]) => {
      const scope = some({ tags });
      return (await withTags(database.read, hosts, [scope])).filter(hostsInScope(scope)).map(({ id }) => id);
    };
    expect(await of(['env=prod'])).toEqual([one]);
    expect(await of(['env=test', 'role=db'])).toEqual([one]);
    expect(await of(['host.env=prod'])).toEqual([]);
    const counted = await activeHostsIn(database.read, some({ tags: ['role=db', 'host.env=prod'] }))
      .select('a.id')
      .execute();
    expect(counted).toEqual([{ id: one }]);
  });

  test('without a seal are removed by their key', async () => {
    const { database, call, add, tag, tagsOf, changes } = await setUp();
    const [one, two] = [await add(1), await add(2)];
    await tag([one], ['zone=a']);
    const raw = { agent_id: one, key: 'env', value: 'prod', set_by: 'ada', set_at: 1 };
    await writeRaw(database, 'host_tags', raw);
    const listed = async () => (await call('GET', '/tags')).body.items;
    expect(await listed()).toMatchObject([{ tag: 'env=prod' }, { tag: 'zone=a' }]);
    expect((await tag([one, two], [], ['env'])).body).toEqual({ changed: [one], not_found: [] });
    expect(await listed()).toMatchObject([{ tag: 'zone=a' }]);
    expect(await tagsOf(one)).toEqual(['zone=a']);
    expect(await changes()).toHaveLength(2);
    expect((await tag([one, two], [], ['env'])).body.changed).toEqual([]);
  });

  test('are not read where no scope names one', async () => {
    const { database, add } = await setUp();
    const host = { id: await add(1), group: 'web' };
    const counted = countStatements(database);
    await withTags(counted.database.read, [host], [{ kind: 'all' }, some({ groups: ['web'] })]);
    expect(counted.counts().reads).toBe(0);
    await withTags(counted.database.read, [host, host], [some({ tags: ['env=prod'] })]);
    expect(counted.counts().reads).toBe(1);
  });

  test.each<[object, string | null]>([
    [{ tags: ['env=prod'] }, null],
    [{ tags: [] }, '/scope'],
    [{ tags: ['env=prod', 'host.role=web'] }, '/scope/tags'],
  ])('a scope of %j has a fault at %s', async (named, path) => {
    const { database } = await setUp();
    expect((await scopeFault(database.read, some(named)))?.path ?? null).toBe(path);
  });
});
