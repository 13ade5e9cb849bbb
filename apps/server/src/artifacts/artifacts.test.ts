import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { sightingsOf } from './identity-rules.ts';
import { noteArtifacts } from './note-artifacts.ts';
import { EVENTS_MAX, HASHES_MAX } from './raise-divergences.ts';
import { readBoundDivergences } from './read-divergences.ts';
import { mountArtifacts } from './routes.ts';

const PATH = '/api/v1/artifacts/divergences';
const HOST = { osId: 'debian', osArch: 'amd64' };
const hash = (n: number) => n.toString(16).padStart(64, '0');

function action(sha256: string, fields: Partial<PlanAction> = {}): PlanAction {
  const artifact = { filename: 'x.deb', url: 'https://m.example/x.deb', size_bytes: 1, sha256 };
  return { action: 'upgrade', name: 'x', to_version: '1.0-1', origin: 'Debian', artifact, ...fields };
}

async function setUp(engine: TestEngine) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const agents: string[] = [];
  for (const n of [1, 2, 3]) agents.push((await insertTestAgent(database, { n })).agentId);
  const app = createSliceApp(platform);
  onTestFinished(() => app.close());
  mountArtifacts(app, { platform });
  async function call(method: 'GET' | 'POST', path: string, payload?: object) {
    const answer = await app.inject({ method, url: PATH + path, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  }
  return {
    database,
    platform,
    agents,
    call,
    note: (n: number, actions: PlanAction[], ecosystem: Ecosystem = 'apt') =>
      database.transact((tx) =>
        noteArtifacts(tx, platform, { agentId: agents[n] ?? '', ecosystem, actions }),
      ),
    async bound(actions: PlanAction[], ecosystem: Ecosystem = 'apt') {
      const [found] = await readBoundDivergences(database.read, [
        sightingsOf({ ecosystem, host: HOST, actions }),
      ]);
      return (found ?? []).map((one) => one.hash);
    },
    async events(type = 'ARTIFACT_DIVERGENCE') {
      const rows = await database.read
        .selectFrom('events')
        .selectAll()
        .where('type', '=', type)
        .orderBy('position')
        .execute();
      return rows.map((row) => ({ ...row, content: JSON.parse(row.content) }));
    },
  };
}

describe.each(ENGINES)('the ledger of artifacts on $name', (engine) => {
  test('the first host that tells of an artifact is remembered, with origin, place and time', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    it.platform.clock.advance(1_000);
    await it.note(1, [action(hash(1), { origin: 'another mirror' })]);
    const rows = await it.database.read.selectFrom('artifacts').selectAll().execute();
    expect(rows).toEqual([
      {
        ...{ scope: 'apt/debian', name: 'x', version: '1.0-1', variant: 'amd64', algorithm: 'sha256' },
        ...{ hash: hash(1), agent_id: it.agents[0], origin: 'Debian', url: 'https://m.example/x.deb' },
        seen_at: it.platform.now() - 1_000,
      },
    ]);
    expect(await it.events()).toEqual([]);
    expect(await it.bound([action(hash(1))])).toEqual([]);
  });

  test('another hash of the same artifact is one critical event, and both hashes are bound from then on', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    await it.note(1, [action(hash(2))]);
    await it.note(2, [action(hash(2)), action(hash(3), { name: 'y' })]);
    const [event, ...more] = await it.events();
    expect(more).toEqual([]);
    const { id } = (await it.call('GET', '')).body.items[0];
    expect(event).toMatchObject({
      ...{ kind: 'security', severity: 'critical', component: 'security', agent_id: it.agents[1] },
      content: {
        divergence_id: id,
        package: { ecosystem: 'apt', name: 'x', version: '1.0-1' },
        ...{ distribution: 'debian', variant: 'amd64', algorithm: 'sha256' },
        hashes: [
          { hash: hash(1), agent_id: it.agents[0], origin: 'Debian', url: 'https://m.example/x.deb' },
          { hash: hash(2), agent_id: it.agents[1] },
        ],
      },
    });
    expect(await it.bound([action(hash(1))])).toEqual([hash(1)]);
    expect(await it.bound([action(hash(2))])).toEqual([hash(2)]);
    expect(await it.bound([action(hash(2), { to_version: '1.1-1' })])).toEqual([]);
    expect(await it.bound([action(hash(2), { name: 'z' })])).toEqual([]);
  });

  test('two hashes inside of one plan diverge as well', async () => {
    const it = await setUp(engine);
    const place = (arch: string, n: number) => action(hash(n), { arch });
    await it.note(0, [place('/srv/a', 1), place('/srv/b', 2)], 'npm');
    expect(await it.events()).toHaveLength(1);
    expect(await it.bound([place('/srv/c', 1)], 'npm')).toEqual([hash(1)]);
  });

  test('SHA-256 and SHA-512 are compared with their own kind alone', async () => {
    const it = await setUp(engine);
    const artifact = { filename: 'x.deb', url: 'https://m.example/x.deb', size_bytes: 1 };
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action('', { artifact: { ...artifact, sha512: 'c'.repeat(128) } })]);
    expect(await it.events()).toEqual([]);
    await it.note(2, [action('', { artifact: { ...artifact, sha512: 'd'.repeat(128) } })]);
    expect(await it.events()).toMatchObject([{ content: { algorithm: 'sha512' } }]);
    expect(await it.bound([action(hash(1))])).toEqual([]);
  });

  test('accepting one hash lets it pass and leaves the others blocked; a third opens it again', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '?open=true')).body.items;
    const decided = await it.call('POST', `/${id}/decide`, { accept: hash(1), reason: 'compared by hand' });
    expect(decided).toMatchObject({
      status: 200,
      body: {
        ...{ id, state: 'decided', decided_by: 'ada', reason: 'compared by hand' },
        hashes: [
          { hash: hash(1), standing: 'accepted' },
          { hash: hash(2), standing: 'refused' },
        ],
      },
    });
    expect((await it.call('GET', `/${id}`)).body).toEqual(decided.body);
    expect(await it.bound([action(hash(1))])).toEqual([]);
    expect(await it.bound([action(hash(2))])).toEqual([hash(2)]);
    expect(await it.events('ARTIFACT_DIVERGENCE_DECIDED')).toMatchObject([
      {
        actor: 'ada',
        content: { accepted: [hash(1)], refused: [hash(2)], reason: 'compared by hand', actor: 'ada' },
      },
    ]);
    // What was decided is no news when it is told of again.
    await it.note(2, [action(hash(2))]);
    expect((await it.call('GET', '?open=true')).body.total).toBe(0);
    expect(await it.events()).toHaveLength(1);

    await it.note(2, [action(hash(3))]);
    expect(await it.events()).toHaveLength(2);
    expect((await it.call('GET', '?open=true')).body.items).toMatchObject([
      { id, state: 'open', decided_by: null, hashes: [{}, {}, { hash: hash(3), standing: 'disputed' }] },
    ]);
    expect(await it.bound([action(hash(3))])).toEqual([hash(3)]);
    // The operator has said of this one that it is right.
    expect(await it.bound([action(hash(1))])).toEqual([]);
  });

  test('all of them may be right: that is said of those that the operator has seen', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    await it.note(2, [action(hash(3))]);
    const all = { accept: 'all', reason: 'built for each release' };
    const late = await it.call('POST', `/${id}/decide`, { ...all, confirm_count: 2 });
    expect(late).toMatchObject({ status: 409, body: { code: 'conflict', count: 3 } });
    expect((await it.call('POST', `/${id}/decide`, { ...all, confirm_count: 3 })).status).toBe(200);
    expect(await it.bound([1, 2, 3].map((n) => action(hash(n))))).toEqual([]);
    // And may be taken back.
    expect((await it.call('POST', `/${id}/decide`, { accept: hash(3), reason: 'no' })).status).toBe(200);
    expect(await it.bound([1, 2, 3].map((n) => action(hash(n))))).toEqual([hash(1), hash(2)]);
  });

  test.each([
    [{ accept: hash(9), reason: 'x' }, 400],
    [{ accept: 'none', reason: 'x' }, 400],
    [{ accept: 'all' }, 400],
    [{ accept: 'all', reason: ' ' }, 400],
    [{ accept: 'all', reason: 'x', override_supply_chain: true }, 400],
  ])('a decision of another form changes nothing: %j', async (body, status) => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    expect((await it.call('POST', `/${id}/decide`, body)).status).toBe(status);
    expect((await it.call('GET', `/${id}`)).body.state).toBe('open');
    expect(await it.events('ARTIFACT_DIVERGENCE_DECIDED')).toEqual([]);
  });

  test('what nobody knows is 404, and the list pages', async () => {
    const it = await setUp(engine);
    for (const n of [1, 2, 3]) {
      it.platform.clock.advance(1);
      await it.note(0, [action(hash(1), { name: `p${n}` })]);
      await it.note(1, [action(hash(2), { name: `p${n}` })]);
    }
    const unknown = '/01900000-0000-7000-8000-00000000beef';
    expect((await it.call('GET', unknown)).status).toBe(404);
    expect((await it.call('POST', `${unknown}/decide`, { accept: 'all', reason: 'x' })).status).toBe(404);
    const first = (await it.call('GET', '?limit=2')).body;
    expect(first.items.map((one: { name: string }) => one.name)).toEqual(['p3', 'p2']);
    const second = (await it.call('GET', `?limit=2&cursor=${first.next_cursor}`)).body;
    expect(second.items.map((one: { name: string }) => one.name)).toEqual(['p1']);
    expect([first.total, second.next_cursor]).toEqual([3, null]);
  });

  test(`at ${HASHES_MAX} hashes no more are listed, and what is not listed stays blocked`, async () => {
    const it = await setUp(engine);
    for (let n = 1; n <= HASHES_MAX + 2; n++) await it.note(n % 3, [action(hash(n))]);
    const [divergence] = (await it.call('GET', '')).body.items;
    expect(divergence.hashes).toHaveLength(HASHES_MAX);
    expect(await it.events()).toHaveLength(HASHES_MAX - 1);
    await it.call('POST', `/${divergence.id}/decide`, { accept: 'all', reason: 'whatever it is' });
    const beyond = [action(hash(HASHES_MAX)), action(hash(HASHES_MAX + 2))];
    expect(await it.bound(beyond)).toEqual([hash(HASHES_MAX + 2)]);
  });

  test(`a plan that diverges everywhere has ${EVENTS_MAX} events and one that counts the rest`, async () => {
    const it = await setUp(engine);
    const plan = (of: number) =>
      Array.from({ length: EVENTS_MAX + 5 }, (_, i) => action(hash(of), { name: `p${i}` }));
    await it.note(0, plan(1));
    await it.note(1, plan(2));
    const events = await it.events();
    expect(events).toHaveLength(EVENTS_MAX + 1);
    expect(events.at(-1)).toMatchObject({ content: { count: 5 } });
    expect((await it.call('GET', '?limit=1')).body.total).toBe(EVENTS_MAX + 5);
    expect(await it.bound(plan(1))).toHaveLength(EVENTS_MAX + 5);
  });

  test('of two hosts that tell of an artifact at once with two hashes, one is noticed', async () => {
    const it = await setUp(engine);
    await Promise.all([1, 2, 3].map((n) => it.note(n - 1, [action(hash(n))])));
    const { items } = (await it.call('GET', '')).body;
    expect(items).toHaveLength(1);
    expect(items[0].hashes).toHaveLength(3);
    expect(await it.events()).toHaveLength(2);
  });

  test('a plan of 5,000 known artifacts is noted by reads alone, 500 in a statement', async () => {
    const it = await setUp(engine);
    const plan = Array.from({ length: 5_000 }, (_, i) => action(hash(i), { name: `p${i}` }));
    await it.note(0, plan);
    const counted = countStatements(it.database);
    await counted.database.transact((tx) =>
      noteArtifacts(tx, it.platform, { agentId: it.agents[1] ?? '', ecosystem: 'apt', actions: plan }),
    );
    // The agent, and what is known; nothing is written.
    expect(counted.counts()).toMatchObject({ transactions: 1, statements: 1 + 10 });
  });
});
