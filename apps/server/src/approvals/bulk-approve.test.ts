import { describe, expect, test } from 'vitest';
import { reportTags } from '../agents/report-tags.ts';
import { changeTags } from '../agents/tag-store.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { CHUNK_UPDATES } from './judge-groups.ts';

const bulk = (it: ApprovalsApp, body: object) => it.call('POST', '/api/v1/updates/approve', body);

async function eventsOf({ database }: ApprovalsApp, type: string) {
  const rows = await database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
  return rows.map((row) => ({ ...row, content: JSON.parse(row.content) }));
}

describe.each(ENGINES)('bulk approval (E4, A6) on $name', (engine) => {
  test('clear updates are approved, flagged ones are returned in blocked, the rest is listed with its code', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable({ name: 'zlib', version: '1.3-1' });
    const clear = await it.addUpdate();
    const flagged = await it.addUpdate({ name: 'zlib', version: '1.3-1' });
    const unplanned = await it.addUpdate({ name: 'curl', plan: null });
    const rejected = await it.addUpdate({ name: 'vim', state: 'rejected' });
    const unknown = '01900000-0000-7000-8000-ffffffffffff';
    const answer = await bulk(it, { update_ids: [clear, flagged, unplanned, rejected, unknown, clear] });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        approved: [{ update_id: clear }],
        awaiting_plan: [unplanned],
        blocked: [
          {
            update_id: flagged,
            package: { ecosystem: 'apt', name: 'zlib', version: '1.3-1' },
            blocked_by: 'vulnerability',
            reason: 'known_vulnerability',
            introduces: [{ id: 'CVE-1', package: 'zlib' }],
            age: null,
          },
        ],
        skipped: [
          { update_id: rejected, code: 'conflict' },
          { update_id: unknown, code: 'not_found' },
        ],
      },
    });
    const row = await findUpdate(it.database.read, clear);
    expect(row).toMatchObject({ state: 'approved', approval_id: answer.body.approved[0].token_id });
    expect(await findUpdate(it.database.read, flagged)).toMatchObject({ state: 'pending' });
    expect(await eventsOf(it, 'bulk_approval_blocked')).toMatchObject([
      { actor: 'ada', content: { count: 1, blocked: [{ update_id: flagged, blocked_by: 'vulnerability' }] } },
    ]);
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
    const marker = '[SECURITY] [server] [supply_chain] bulk_approval_blocked';
    expect(it.platform.lines.filter((line) => line.startsWith(marker))).toHaveLength(1);
  });

  test.each([
    [{ override_supply_chain: true }],
    [{ override_supply_chain: false }],
    [{ override_reason: 'all of them' }],
    [{ override_supply_chain: true, override_reason: 'all of them' }],
  ])('A6: a blanket override is 400 and approves nothing: %j', async (override) => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    for (const body of [{ update_ids: [id] }, { filter: {}, confirm_count: 1 }]) {
      expect(await bulk(it, { ...body, ...override })).toMatchObject({
        status: 400,
        code: 'invalid_request',
      });
    }
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending' });
  });

  test('a filter approves exactly what the operator confirmed, or is 409 conflict if the count differs', async () => {
    const it = await createApprovalsApp(engine);
    const ids = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    await it.addPlan(
      ids,
      ['openssl', 'curl'].map((name) => actionOf({ name, version: '3.0.12-1' })),
    );
    await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '1.0.0' });
    const filter = { state: 'pending', ecosystem: 'apt' };
    for (const confirm_count of [1, 3]) {
      const answer = await bulk(it, { filter, confirm_count });
      expect(answer).toMatchObject({ status: 409, code: 'conflict', body: { count: 2 } });
    }
    const { body } = await bulk(it, { filter, confirm_count: 2 });
    expect(body.approved.map((one: { update_id: string }) => one.update_id).toSorted()).toEqual(
      ids.toSorted(),
    );
  });

  test('an operator of some groups approves nothing of others: by a filter, by ids, or twice at once', async () => {
    const it = await createApprovalsApp(engine);
    const [foreign, mine] = await Promise.all(
      ['theirs', 'ours'].map(
        async (group, i) => (await insertTestAgent(it.database, { n: 90 + i, group })).agentId,
      ),
    );
    if (!foreign || !mine) throw new Error('no hosts');
    const others = [await it.addUpdate({ agentId: foreign }), await it.addUpdate({ name: 'curl' })];
    const own = await it.addUpdate({ agentId: mine });
    async function ask(payload: object) {
      const headers = { 'x-test-groups': 'ours' };
      const url = '/api/v1/updates/approve';
      const answer = await it.app.inject({ method: 'POST', url, payload, headers });
      return { status: answer.statusCode, body: answer.json() };
    }
    // The count says nothing of others either.
    for (const filter of [{}, { state: 'pending' }, { ecosystem: 'apt' }]) {
      expect(await ask({ filter, confirm_count: 3 })).toMatchObject({ status: 409, body: { count: 1 } });
    }
    for (const filter of [{ group: 'theirs' }, { agent_id: foreign }, { q: 'curl' }]) {
      expect(await ask({ filter, confirm_count: 1 })).toMatchObject({ status: 409, body: { count: 0 } });
    }
    const answers = await Promise.all([
      ask({ update_ids: [...others, own] }),
      ask({ filter: {}, confirm_count: 1 }),
    ]);
    const approved = answers.flatMap(({ body }) => body.approved ?? []);
    expect(approved.map((one: { update_id: string }) => one.update_id)).toEqual([own]);
    const rows = it.database.read.selectFrom('approvals').select('agent_id');
    expect(await rows.execute()).toEqual([{ agent_id: mine }]);
    for (const id of others) {
      expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending' });
    }
    expect((await eventsOf(it, 'update_approved')).map(({ agent_id }) => agent_id)).toEqual([mine]);
  });

  test('a filter by what hosts report of themselves approves nothing; one by a tag of operators does', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await reportTags(it.platform, { agentId: it.agentId, tags: ['host.role=web'] });
    const ask = (tag: string) => bulk(it, { filter: { tag }, confirm_count: 1 });
    const refused = await ask('host.role=web');
    expect([refused.status, refused.body.errors]).toMatchObject([400, [{ path: '/filter/tag' }]]);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending' });
    expect(await ask('role=web')).toMatchObject({ status: 409, body: { count: 0 } });
    await it.database.transact((tx) =>
      changeTags(tx, { agentId: it.agentId, set: ['role=web'], remove: [], by: 'ada', atMs: 1 }),
    );
    expect((await ask('role=web')).body.approved).toMatchObject([{ update_id: id }]);
  });

  test.each([
    [{}],
    [{ update_ids: [] }],
    [{ update_ids: ['x'] }],
    [{ filter: { colour: 'red' }, confirm_count: 1 }],
    [{ filter: {} }],
  ])('a body of another form is 400: %j', async (body) => {
    const it = await createApprovalsApp(engine);
    expect((await bulk(it, body)).status).toBe(400);
  });

  test('one wait for the whole request: updates not judged by then are skipped as verdict_pending', async () => {
    const it = await createApprovalsApp(engine, { waitMs: 50 });
    const known = await it.addUpdate({ name: 'known' });
    const previewed = async () => (await it.call('POST', `/api/v1/updates/${known}/preview`)).status;
    await expect.poll(previewed).toBe(200);
    it.osv.mode = 'hang';
    const ids = [known];
    for (const name of ['a1', 'b1', 'c1', 'd1', 'e1']) ids.push(await it.addUpdate({ name }));
    const waits: number[] = [];
    const { ensureJudged } = it.deps.worker;
    it.deps.worker.ensureJudged = (subjects, timeoutMs) => {
      waits.push(subjects.length);
      return ensureJudged(subjects, timeoutMs);
    };
    const { body } = await bulk(it, { update_ids: ids });
    expect(waits).toEqual([6]);
    expect(body.approved).toMatchObject([{ update_id: known }]);
    expect(body.skipped).toEqual(ids.slice(1).map((update_id) => ({ update_id, code: 'verdict_pending' })));
  });

  test('250 updates of one host are one query to the source, and one token', async () => {
    const it = await createApprovalsApp(engine);
    const ids: string[] = [];
    const actions = Array.from({ length: 250 }, (_, i) => actionOf({ name: `p${i}`, version: '1.1-1' }));
    for (const { name } of actions) ids.push(await it.addUpdate({ name, version: '1.1-1' }));
    await it.addPlan(ids, actions);
    const { body } = await bulk(it, { update_ids: ids });
    expect(body.approved).toHaveLength(250);
    expect(new Set(body.approved.map((one: { token_id: string }) => one.token_id)).size).toBe(1);
    expect(it.osv.requests.length).toBeLessThanOrEqual(2);
  });

  /** An app whose database fails at the commit of the second chunk, and then recovers or stays down. */
  async function openFailing({ forGood }: { forGood: boolean }) {
    let isAway = false;
    const it = await createApprovalsApp(engine, {
      wrap: (database) => ({
        ...database,
        transact: (work) =>
          database.transact(async (tx) => {
            const result = await work(tx);
            const tokens = await tx.selectFrom('approvals').select('token_id').execute();
            if (isAway || tokens.length >= CHUNK_UPDATES) {
              isAway = forGood;
              throw new DatabaseFault('the disk is full');
            }
            return result;
          }),
      }),
    });
    it.vulnerable({ name: 'zlib', version: '1.3-1' });
    const flagged = await it.addUpdate({ name: 'zlib', version: '1.3-1' });
    const ids = [flagged];
    for (let n = 2; n < CHUNK_UPDATES + 3; n++) {
      const { agentId } = await insertTestAgent(it.database, { n });
      ids.push(await it.addUpdate({ name: 'p', version: '1.1-1', agentId }));
    }
    return { it, flagged, ids };
  }

  test.each([
    [false, 1],
    [true, 0],
  ])(
    'A6: updates stopped before the database failed (for good: %s) have their log line, and %i event',
    async (forGood, count) => {
      const { it, flagged, ids } = await openFailing({ forGood });
      expect((await bulk(it, { update_ids: ids })).status).toBe(503);
      const event = { actor: 'ada', content: { count: 1, blocked: [{ update_id: flagged }] } };
      expect(await eventsOf(it, 'bulk_approval_blocked')).toMatchObject(Array(count).fill(event));
      const marker = '[SECURITY] [server] [supply_chain] bulk_approval_blocked';
      expect(it.platform.lines.filter((line) => line.startsWith(marker))).toHaveLength(1);
      const tokens = await it.database.read.selectFrom('approvals').select('token_id').execute();
      expect(tokens).toHaveLength(CHUNK_UPDATES - 1);
    },
  );
});
