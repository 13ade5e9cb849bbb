import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { revokeAgent } from '../agents/revoke-agent.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { sightingsOf } from './identity-rules.ts';
import { createLedgerUpkeep } from './ledger-upkeep.ts';
import { HASHES_MAX } from './raise-divergences.ts';
import { readBoundDivergences } from './read-divergences.ts';
import { HOSTS_PER_HASH, recordArtifacts } from './record-artifacts.ts';
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
  mountArtifacts(app.routes, { platform });
  async function call(method: 'GET' | 'POST', path: string, payload?: object) {
    const answer = await app.inject({ method, url: PATH + path, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  }
  const noteOf = (agentId: string, actions: PlanAction[], ecosystem: Ecosystem = 'apt') =>
    database.transact((tx) => recordArtifacts(tx, platform, { agentId, ecosystem, actions }));
  return {
    database,
    platform,
    agents,
    call,
    noteOf,
    note: (n: number, actions: PlanAction[], ecosystem?: Ecosystem) =>
      noteOf(agents[n] ?? '', actions, ecosystem),
    async bound(actions: PlanAction[], ecosystem: Ecosystem = 'apt') {
      const [found] = await readBoundDivergences(database.read, [
        // A host that the ledger does not know.
        { agentId: 'nobody', sightings: () => sightingsOf({ ecosystem, host: HOST, actions }) },
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
  test('the first host to report an artifact is recorded, with origin, place and time', async () => {
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

  test('another hash of the same artifact is one critical event, and both hashes are blocked from then on', async () => {
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

  test('two hashes within one plan diverge too', async () => {
    const it = await setUp(engine);
    const place = (arch: string, n: number) => action(hash(n), { arch });
    await it.note(0, [place('/srv/a', 1), place('/srv/b', 2)], 'npm');
    expect(await it.events()).toHaveLength(1);
    expect(await it.bound([place('/srv/c', 1)], 'npm')).toEqual([hash(1)]);
  });

  test('SHA-256 and SHA-512 are each compared only with their own kind', async () => {
    const it = await setUp(engine);
    const artifact = { filename: 'x.deb', url: 'https://m.example/x.deb', size_bytes: 1 };
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action('', { artifact: { ...artifact, sha512: 'c'.repeat(128) } })]);
    expect(await it.events()).toEqual([]);
    await it.note(2, [action('', { artifact: { ...artifact, sha512: 'd'.repeat(128) } })]);
    expect(await it.events()).toMatchObject([{ content: { algorithm: 'sha512' } }]);
    expect(await it.bound([action(hash(1))])).toEqual([]);
  });

  test('accepting one hash lets it pass and leaves the others blocked; a third one reopens the divergence', async () => {
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
    // A decided hash is not raised when it is reported again.
    await it.note(2, [action(hash(2))]);
    expect((await it.call('GET', '?open=true')).body.total).toBe(0);
    expect(await it.events()).toHaveLength(1);

    await it.note(2, [action(hash(3))]);
    expect(await it.events()).toHaveLength(2);
    expect((await it.call('GET', '?open=true')).body.items).toMatchObject([
      { id, state: 'open', decided_by: null, hashes: [{}, {}, { hash: hash(3), standing: 'disputed' }] },
    ]);
    expect(await it.bound([action(hash(3))])).toEqual([hash(3)]);
    // The operator has accepted this one.
    expect(await it.bound([action(hash(1))])).toEqual([]);
  });

  test('all hashes can be accepted: this covers those that the operator has seen', async () => {
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
    // The decision can be undone.
    expect((await it.call('POST', `/${id}/decide`, { accept: hash(3), reason: 'no' })).status).toBe(200);
    expect(await it.bound([1, 2, 3].map((n) => action(hash(n))))).toEqual([hash(1), hash(2)]);
  });

  test.each([
    [{ accept: 'c'.repeat(128), reason: 'x' }, 400],
    [{ accept: hash(1).toUpperCase().replaceAll('0', 'A'), reason: 'x' }, 400],
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

  test('an unknown id is 404, and the list pages', async () => {
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

  test(`at ${HASHES_MAX} hashes no more are listed, and unlisted ones stay blocked`, async () => {
    const it = await setUp(engine);
    for (let n = 1; n <= HASHES_MAX + 2; n++) {
      const { agentId } = await insertTestAgent(it.database, { n: 100 + n });
      await it.noteOf(agentId, [action(hash(n))]);
    }
    const [divergence] = (await it.call('GET', '')).body.items;
    expect(divergence.hashes).toHaveLength(HASHES_MAX);
    expect(await it.events()).toHaveLength(HASHES_MAX - 1);
    await it.call('POST', `/${divergence.id}/decide`, { accept: 'all', reason: 'whatever it is' });
    const beyond = [action(hash(HASHES_MAX)), action(hash(HASHES_MAX + 2))];
    expect(await it.bound(beyond)).toEqual([hash(HASHES_MAX + 2)]);
    // An operator may still type it.
    const typed = { accept: hash(HASHES_MAX + 2), reason: 'as on the disc of the vendor' };
    expect((await it.call('POST', `/${divergence.id}/decide`, typed)).status).toBe(200);
    expect(await it.bound(beyond)).toEqual([hash(HASHES_MAX)]);
  });

  test('an operator may type and accept a hash that nobody reported', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    const typed = await it.call('POST', `/${id}/decide`, { accept: hash(9), reason: 'from the vendor' });
    expect(typed).toMatchObject({ status: 200, body: { state: 'decided', settled_by: 'operator' } });
    expect(typed.body.hashes).toContainEqual(
      expect.objectContaining({ hash: hash(9), standing: 'accepted', agent_id: null, hosts: 0 }),
    );
    expect(await it.bound([1, 2, 9].map((n) => action(hash(n))))).toEqual([hash(1), hash(2)]);
  });

  test('a decision is undone: hosts decide again, and both entries stay on record', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    const undo = () => it.call('POST', `/${id}/undo`, { reason: 'the wrong row' });
    expect((await undo()).status).toBe(409);
    await it.call('POST', `/${id}/decide`, { accept: hash(2), reason: 'looked at it' });
    expect(await it.bound([action(hash(2))])).toEqual([]);
    expect(await undo()).toMatchObject({ status: 200, body: { state: 'open', decided_by: null } });
    expect(await it.bound([action(hash(2))])).toEqual([hash(2)]);
    expect(await it.events('ARTIFACT_DIVERGENCE_UNDONE')).toMatchObject([
      { actor: 'ada', content: { divergence_id: id, reason: 'the wrong row' } },
    ]);
    const kept = await it.database.read.selectFrom('artifact_decisions').select(['kind', 'actor']).execute();
    expect(kept).toHaveLength(2);
    expect(
      (await it.call('POST', '/01900000-0000-7000-8000-00000000beef/undo', { reason: 'x' })).status,
    ).toBe(404);
  });

  test('T6: a decision about an artifact that was inserted or changed in the database does not count', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    const write = (statement: string) => it.database.transact((tx) => sql.raw(statement).execute(tx));
    await writeRaw(it.database, 'artifact_decisions', {
      ...{ id: 'x', divergence_id: id, kind: 'accept', accepted: JSON.stringify([hash(2)]), refused: '[]' },
      ...{ reason: 'mine', actor: 'ada', decided_at: 1 },
    });
    await write(
      "UPDATE artifact_divergences SET decision_id = 'x', state = 'decided', settled_by = 'operator'",
    );
    expect(await it.bound([action(hash(2))])).toEqual([hash(2)]);
    await it.call('POST', `/${id}/decide`, { accept: hash(1), reason: 'looked at it' });
    expect(await it.bound([1, 2].map((n) => action(hash(n))))).toEqual([hash(2)]);
    await write(`UPDATE artifact_decisions SET accepted = '["${hash(2)}"]', refused = '[]'`);
    expect(await it.bound([1, 2].map((n) => action(hash(n))))).toEqual([hash(1), hash(2)]);
  });

  test('many are decided at once, each separately, and failures are reported', async () => {
    const it = await setUp(engine);
    const plan = (of: number) => ['p1', 'p2', 'p3'].map((name) => action(hash(of), { name }));
    await it.note(0, plan(1));
    await it.note(1, plan(2));
    const [third, second, first] = (await it.call('GET', '')).body.items;
    const unknown = '01900000-0000-7000-8000-00000000beef';
    const many = await it.call('POST', '/decide', {
      reason: 'compared with the signed index',
      decisions: [
        { id: first.id, accept: hash(1), confirm_count: 2 },
        { id: second.id, accept: 'all', confirm_count: 3 },
        { id: third.id, accept: 'c'.repeat(128) },
        { id: unknown, accept: 'all' },
      ],
    });
    expect(many).toEqual({
      status: 200,
      body: {
        decided: [first.id],
        failed: [
          { id: second.id, reason: 'count_differs' },
          { id: third.id, reason: 'hash_of_another_kind' },
          { id: unknown, reason: 'not_found' },
        ],
      },
    });
    expect(await it.bound([...plan(1), ...plan(2)])).toHaveLength(5);
    const none = { reason: 'x', decisions: [] };
    expect((await it.call('POST', '/decide', none)).status).toBe(400);
    const tooMany = Array.from({ length: 201 }, () => ({ id: first.id, accept: 'all' }));
    expect((await it.call('POST', '/decide', { reason: 'x', decisions: tooMany })).status).toBe(400);
  });

  test('the report of each host is listed, including hosts that do not count', async () => {
    const it = await setUp(engine);
    await it.note(0, [action(hash(1))]);
    await it.note(1, [action(hash(2))]);
    const [{ id }] = (await it.call('GET', '')).body.items;
    await revokeAgent(it.platform, {
      agentId: it.agents[1] ?? '',
      act: 'revoke',
      reason: null,
      actor: 'ada',
    });
    expect((await it.call('GET', `/${id}/sightings`)).body.items).toMatchObject([
      { hash: hash(1), agent_id: it.agents[0], hostname: 'host-1', counts: true, differs: false },
      { hash: hash(2), agent_id: it.agents[1], hostname: 'host-2', counts: false, differs: true },
    ]);
  });

  test('upkeep settles what a departed host disputed, and deletes what nobody reports', async () => {
    const it = await setUp(engine);
    const upkeep = createLedgerUpkeep(it.platform);
    const only = (name: string, n: number) => action(hash(n), { name });
    await it.note(0, [only('disputed', 1), only('decided', 1)]);
    await it.note(1, [only('disputed', 2), only('decided', 2), only('its own', 2)]);
    const [decided, disputed] = (await it.call('GET', '')).body.items;
    await it.call('POST', `/${decided.id}/decide`, { accept: hash(1), reason: 'looked at it' });
    await revokeAgent(it.platform, {
      agentId: it.agents[1] ?? '',
      act: 'delete',
      reason: null,
      actor: 'ada',
    });
    await upkeep.settleSome();
    expect((await it.call('GET', `/${disputed.id}`)).body).toMatchObject({
      ...{ state: 'settled', settled_by: 'hosts' },
      hashes: [{ standing: 'established' }, { standing: 'unsupported', hosts: 0 }],
    });
    await upkeep.tidySome();
    const names = async (table: 'artifacts' | 'artifact_sightings' | 'artifact_divergences') => {
      const rows = await it.database.read.selectFrom(table).select('name').orderBy('name').execute();
      return rows.map(({ name }) => name);
    };
    expect(await names('artifact_sightings')).toEqual(['decided', 'disputed']);
    expect(await names('artifacts')).toEqual(['decided', 'disputed']);
    await revokeAgent(it.platform, {
      agentId: it.agents[0] ?? '',
      act: 'revoke',
      reason: null,
      actor: 'ada',
    });
    await upkeep.tidySome();
    expect(await names('artifacts')).toEqual([]);
    expect(await names('artifact_divergences')).toEqual(['decided']);
  });

  test('a plan that differs everywhere opens no divergence: its host is set aside', async () => {
    const it = await setUp(engine);
    const plan = (of: number) => Array.from({ length: 105 }, (_, i) => action(hash(of), { name: `p${i}` }));
    await it.note(0, plan(1));
    await it.note(1, plan(2));
    expect(await it.events()).toEqual([]);
    expect((await it.call('GET', '?limit=1')).body.total).toBe(0);
    expect(await it.events('ARTIFACT_LEDGER_FLOOD')).toMatchObject([
      { agent_id: it.agents[1], severity: 'critical', content: { role: 'newcomer', day: 105, month: 105 } },
    ]);
  });

  test('of two hosts that report an artifact at once with two hashes, the second is noticed', async () => {
    const it = await setUp(engine);
    await Promise.all([1, 2, 3].map((n) => it.note(n - 1, [action(hash(n))])));
    const { items } = (await it.call('GET', '')).body;
    expect(items).toHaveLength(1);
    expect(items[0].hashes).toHaveLength(3);
    expect(await it.events()).toHaveLength(2);
  });

  test(`a plan of 5,000 artifacts that ${HOSTS_PER_HASH} hosts know is recorded with reads alone, 500 per statement`, async () => {
    const it = await setUp(engine);
    const plan = Array.from({ length: 5_000 }, (_, i) => action(hash(i), { name: `p${i}` }));
    for (let n = 1; n <= HOSTS_PER_HASH; n++) {
      const { agentId } = await insertTestAgent(it.database, { n: 100 + n });
      await it.noteOf(agentId, plan);
    }
    const counted = countStatements(it.database);
    await counted.database.transact((tx) =>
      recordArtifacts(tx, it.platform, { agentId: it.agents[1] ?? '', ecosystem: 'apt', actions: plan }),
    );
    // Reads the agent, whether it is set aside, and the ledger; writes nothing.
    expect(counted.counts()).toMatchObject({ transactions: 1, statements: 2 + 10 });
    const rows = await it.database.read.selectFrom('artifact_sightings').select('agent_id').execute();
    expect(rows).toHaveLength(HOSTS_PER_HASH * 5_000);
  });
});
