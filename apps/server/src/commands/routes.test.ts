import { createHash } from 'node:crypto';
import { type CommandResult, OUTPUT_MAX_CHARS, OUTPUT_PIECE_MAX_CHARS } from '@tidegate/protocol/agent-api';
import { APPROVAL_TYPE } from '@tidegate/protocol/documents';
import { describe, expect, onTestFinished, test } from 'vitest';
import { storedApproval } from '../approval-tokens/store.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { insertTestAgent, insertTestUpdate, voidedApprovals } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp, createTestKeyRing, SLICE_CALLER } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { findUpdate } from '../updates/store.ts';
import { mountAgentCommands } from './agent-routes.ts';
import { cancelCommand } from './change-command.ts';
import { deliverCommands } from './deliver-commands.ts';
import { type NewCommand, queueCommand } from './queue-command.ts';
import { mountCommands } from './routes.ts';
import { findCommand } from './store.ts';
import { withdrawApprovals } from './withdraw-approvals.ts';

const OTHER_UPDATE = '01900000-0000-7000-8000-00000000beef';

describe.each(ENGINES)('commands over HTTP on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const keyRing = createTestKeyRing();
    const app = createSliceApp(platform);
    const session = { caller: SLICE_CALLER as OperatorCaller | null };
    mountCommands(app.routes, { platform, identify: async () => session.caller, lookEveryMs: 5 });
    mountAgentCommands(app.routes, { platform, config: { minAgentVersion: null } });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(database, { n: 1 });
    const { agentId } = key;
    const queue = (command: Partial<NewCommand> = {}) =>
      database.transact((tx) =>
        queueCommand(tx, platform, { agentId, action: 'scan', params: {}, createdBy: 'ada', ...command }),
      );
    const deliver = () =>
      database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { agentId, machineId: 'machine-1', received: [] }),
      );
    async function post(path: string, payload: object, of = key) {
      return app.inject({
        method: 'POST',
        url: `/api/v1/agents/${of.agentId}/${path}`,
        headers: {
          'x-machine-id': of === key ? 'machine-1' : 'machine-2',
          'x-test-agent': of.agentId,
          'x-test-family': of.familyId,
        },
        payload,
      });
    }
    const report = (id: string, result: CommandResult) => post(`commands/${id}/result`, result);
    async function install(state = 'approved') {
      const expiresAtMs = platform.now() + 7 * 24 * 3_600_000;
      const update = await insertTestUpdate(database, { agentId, n: 1, state, expiresAtMs, keyRing });
      const id = await queue({ ...update, action: 'install_update' });
      await deliver();
      return { id, updateId: update.updateId };
    }
    const voided = () => voidedApprovals(database.read);
    const events = () =>
      database.read.selectFrom('events').select(['kind', 'type', 'severity', 'content']).execute();
    return {
      app,
      database,
      platform,
      keyRing,
      voided,
      key,
      queue,
      deliver,
      post,
      report,
      install,
      events,
      session,
    };
  }

  describe('a host outside its own hours', () => {
    const refusal = (retry_at: string) => ({
      status: 'refused' as const,
      reason: 'host_policy (outside_hours): this host installs in hours of its own',
      retry_at,
    });
    const pending = (database: Awaited<ReturnType<typeof engine.open>>) =>
      database.read.selectFrom('agent_commands').selectAll().where('status', '=', 'pending').execute();

    test('gets the command anew when they begin, and the update stays approved', async () => {
      const { database, platform, install, report, events } = await setUp();
      const { id, updateId } = await install();
      const retryMs = platform.now() + 5 * 3_600_000;
      const retry_at = `${new Date(retryMs).toISOString().slice(0, 19)}Z`;
      expect((await report(id, refusal(retry_at))).statusCode).toBe(200);
      const [first] = await database.read
        .selectFrom('agent_commands')
        .selectAll()
        .where('id', '=', id)
        .execute();
      const { approval_id, approval_sha256, params } = first ?? {};
      expect(first).toMatchObject({ status: 'refused' });
      expect(await pending(database)).toMatchObject([
        { not_before: retryMs, approval_id, approval_sha256, params, created_by: 'ada' },
      ]);
      expect(await findUpdate(database.read, updateId)).toMatchObject({ state: 'approved' });
      expect((await events()).map(({ type }) => type)).not.toContain('update_failed');
    });

    test('waits at least a minute, whatever it requests', async () => {
      const { database, platform, install, report } = await setUp();
      const { id } = await install();
      await report(id, refusal('2020-01-01T00:00:00Z'));
      expect(await pending(database)).toMatchObject([{ not_before: platform.now() + 60_000 }]);
    });

    test('gets nothing if its approval would expire before: the update failed', async () => {
      const { database, install, report } = await setUp();
      const { id, updateId } = await install();
      await report(id, refusal('2027-11-22T02:00:00Z'));
      expect(await pending(database)).toEqual([]);
      expect(await findUpdate(database.read, updateId)).toMatchObject({ state: 'failed' });
    });

    test('cannot request it once it has begun, nor with an outcome other than a refusal', async () => {
      const { database, platform, install, report } = await setUp();
      const { id, updateId } = await install();
      const retry_at = `${new Date(platform.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
      expect((await report(id, { status: 'failed', retry_at })).statusCode).toBe(400);
      await report(id, { status: 'running' });
      await report(id, refusal(retry_at));
      expect(await pending(database)).toEqual([]);
      expect(await findUpdate(database.read, updateId)).toMatchObject({ state: 'failed' });
    });
  });

  test('a command names the packages that it changes, the first of them with their versions', async () => {
    const { app, database, queue, install, key } = await setUp();
    const { id } = await install();
    const more = ['zlib', 'curl', 'bash', 'apt'].map((name, i) => ({ name, n: i + 10 }));
    const updateIds: string[] = [];
    for (const { n } of more) {
      const { updateId } = await insertTestUpdate(database, {
        ...{ agentId: key.agentId, n, state: 'pending', expiresAtMs: 1, hasApproval: false },
      });
      updateIds.push(updateId);
    }
    for (const [i, updateId] of updateIds.entries())
      await database.transact((tx) =>
        tx
          .updateTable('updates')
          .set({ name: more[i]?.name ?? '', current_version: '1', available_version: '2' })
          .where('id', '=', updateId)
          .execute(),
      );
    const many = await queue();
    for (const update_id of updateIds)
      await writeRaw(database, 'command_updates', { command_id: many, update_id });
    const read = async (url: string) => (await app.inject({ method: 'GET', url })).json();
    const { items } = await read('/api/v1/commands');
    const packagesOf = (wanted: string) => items.find((one: { id: string }) => one.id === wanted).packages;
    expect(packagesOf(id)).toMatchObject({ total: 1, first: [{ name: expect.any(String) }] });
    expect(packagesOf(many).first).toEqual(
      ['apt', 'bash', 'curl'].map((name) => ({ name, from: '1', to: '2' })),
    );
    expect((await read(`/api/v1/commands/${many}`)).packages).toEqual(packagesOf(many));
  });

  test('an install that runs and succeeds: installing, then installed with its event', async () => {
    const { database, install, report, events } = await setUp();
    const { id, updateId } = await install();
    expect((await report(id, { status: 'running', started_at: '2026-11-21T09:00:01Z' })).json()).toEqual({
      command_id: id,
      status: 'running',
    });
    expect((await findUpdate(database.read, updateId))?.state).toBe('installing');
    expect((await report(id, { status: 'success', exit_code: 0 })).statusCode).toBe(200);
    expect((await findUpdate(database.read, updateId))?.state).toBe('installed');
    expect(await events()).toMatchObject([{ kind: 'system', type: 'update_installed', severity: 'info' }]);
  });

  describe('when an installation begins', () => {
    const AT = (second: number) => `2026-11-21T09:00:0${second}.000Z`;
    const told = (installing_at: string) => ({ status: 'running' as const, installing_at });
    async function running() {
      const it = await setUp();
      const { id } = await it.install();
      expect((await it.report(id, { status: 'running', started_at: AT(1) })).statusCode).toBe(200);
      const times = async () => {
        const { body } = await it.app.inject({ method: 'GET', url: `/api/v1/commands/${id}` });
        const { status, started_at, installing_at } = JSON.parse(body);
        return [status, started_at, installing_at];
      };
      return { ...it, id, times };
    }

    test('the host says so while it runs, and of several times the first counts', async () => {
      const { id, report, times } = await running();
      expect(await times()).toEqual(['running', AT(1), null]);
      for (const at of [AT(5), AT(6), AT(5)]) {
        expect((await report(id, told(at))).json()).toEqual({ command_id: id, status: 'running' });
        expect(await times()).toEqual(['running', AT(1), AT(5)]);
      }
      await report(id, { status: 'success', exit_code: 0, started_at: AT(7), finished_at: AT(9) });
      expect(await times()).toEqual(['success', AT(1), AT(5)]);
    });

    test('that changes the command for those who watch it, and moves no update again', async () => {
      const { id, report, database, platform, events } = await running();
      const before = await events();
      platform.clock.advance(1_000);
      await report(id, told(AT(5)));
      expect((await findCommand(database.read, id))?.changed_at).toBe(platform.now());
      expect(await events()).toEqual(before);
    });

    test('a time before the start becomes the start', async () => {
      const { id, report, times } = await running();
      await report(id, told(AT(0)));
      expect(await times()).toEqual(['running', AT(1), AT(1)]);
    });

    test('the first that the host says of the command may be this', async () => {
      const { install, report, database } = await setUp();
      const { id } = await install();
      expect((await report(id, told(AT(5)))).statusCode).toBe(200);
      expect(await findCommand(database.read, id)).toMatchObject({
        ...{ status: 'running', started_at: null, installing_at: Date.parse(AT(5)) },
      });
    });

    test.each([
      ['a result of a package manager', { exit_code: 100 }, AT(4)],
      ['a result without one', {}, null],
    ])('if the host could not say so, %s does', async (_, more, expected) => {
      const { id, report, times } = await running();
      await report(id, { status: 'failed', started_at: AT(4), finished_at: AT(9), ...more });
      expect(await times()).toEqual(['failed', AT(1), expected]);
    });

    test('a result with the start that is known says nothing of it', async () => {
      const { id, report, times } = await running();
      await report(id, { status: 'success', exit_code: 0, started_at: AT(1) });
      expect(await times()).toEqual(['success', AT(1), null]);
    });

    test('said after the end it changes nothing', async () => {
      const { id, report, times } = await running();
      await report(id, { status: 'success', finished_at: AT(9) });
      const answer = await report(id, told(AT(5)));
      expect([answer.statusCode, answer.json().code]).toEqual([409, 'command_finished']);
      expect(await times()).toEqual(['success', AT(1), null]);
    });

    test('only the host of the command may say it', async () => {
      const { id, database, post, times } = await running();
      const other = await insertTestAgent(database, { n: 2 });
      expect((await post(`commands/${id}/result`, told(AT(5)), other)).statusCode).toBe(404);
      expect(await times()).toEqual(['running', AT(1), null]);
    });

    test.each<[string, CommandResult, string]>([
      ['with another status', { status: 'success', installing_at: AT(5) }, 'is allowed only while running'],
      [
        'before the start beside it',
        { status: 'running', started_at: AT(5), installing_at: AT(4) },
        'must not be before started_at',
      ],
    ])('a time %s is refused', async (_, result, message) => {
      const { id, report, times } = await running();
      const answer = await report(id, result);
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ errors: [{ path: '/installing_at', message }] });
      expect(await times()).toEqual(['running', AT(1), null]);
    });

    test('a command that installs nothing has none', async () => {
      const { queue, deliver, report, database } = await setUp();
      const id = await queue();
      await deliver();
      const answer = await report(id, told(AT(5)));
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({
        errors: [{ path: '/installing_at', message: 'is allowed only of an installation' }],
      });
      expect((await findCommand(database.read, id))?.status).toBe('sent');
    });
  });

  describe('an install of several updates', () => {
    async function installThree() {
      const world = await setUp();
      const { database, key, platform, queue, deliver } = world;
      const of = {
        agentId: key.agentId,
        state: 'approved',
        expiresAtMs: platform.now() + 7 * 24 * 3_600_000,
      };
      const first = await insertTestUpdate(database, { ...of, n: 1, keyRing: world.keyRing });
      const others = [];
      for (const n of [2, 3]) {
        const { updateId } = await insertTestUpdate(database, { ...of, n, hasApproval: false });
        others.push(updateId);
      }
      const ids = [first.updateId, ...others];
      const payload = { ids, tokenId: first.approval.tokenId };
      const approval = await signedFor(world, payload);
      const id = await queue({ action: 'install_update', params: { update_ids: ids }, approval });
      expect(await deliver()).toHaveLength(1);
      const states = async () =>
        Promise.all(ids.map(async (one) => (await findUpdate(database.read, one))?.state));
      return { ...world, id, ids, states };
    }

    /** Replaces the approval of the first update by one of all, as the server mints it. */
    async function signedFor(
      { database, keyRing }: Awaited<ReturnType<typeof setUp>>,
      { ids, tokenId }: { ids: readonly string[]; tokenId: string },
    ) {
      const stored = await database.transact((tx) => storedApproval(tx, tokenId));
      const { payload } = JSON.parse(stored?.envelope ?? '{}');
      const one = JSON.parse(Buffer.from(payload, 'base64').toString());
      const updates = ids.map((update_id) => ({ ...one.updates[0], update_id }));
      const bytes = Buffer.from(JSON.stringify({ ...one, updates }));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const envelope = JSON.stringify(keyRing.signer().sign(APPROVAL_TYPE, bytes));
      await database.transact(async (tx) => {
        const change = { envelope, payload_sha256: sha256 };
        await tx.updateTable('approvals').set(change).where('token_id', '=', tokenId).execute();
        const members = ids.slice(1).map((update_id) => ({ token_id: tokenId, update_id }));
        await tx.insertInto('approval_updates').values(members).execute();
      });
      return { tokenId, sha256 };
    }

    test('runs and succeeds as a whole, with one event that names them', async () => {
      const { id, ids, report, states, events } = await installThree();
      await report(id, { status: 'running' });
      expect(await states()).toEqual(['installing', 'installing', 'installing']);
      await report(id, { status: 'success', exit_code: 0 });
      expect(await states()).toEqual(['installed', 'installed', 'installed']);
      const [event, ...rest] = await events();
      expect(rest).toEqual([]);
      const content = JSON.parse(event?.content ?? '');
      expect(content).toMatchObject({ update_count: 3, updates: ids.map((update_id) => ({ update_id })) });
    });

    test('moves each by its own outcome', async () => {
      const { id, ids, report, states, events } = await installThree();
      const outcomes = ['installed', 'failed', 'already_installed'] as const;
      const updates = outcomes.map((outcome, i) => ({ update_id: ids[i] ?? '', outcome }));
      const ended = await report(id, { status: 'failed', reason: 'postinst failed', updates });
      expect(ended.statusCode).toBe(200);
      expect(await states()).toEqual(['installed', 'failed', 'installed']);
      const said = (await events()).map(({ type, content }) => [type, JSON.parse(content).update_count]);
      expect(said).toEqual([
        ['update_installed', 2],
        ['update_failed', 1],
      ]);
    });

    test('leaves those as they are that a scan has closed meanwhile', async () => {
      const { id, ids, report, states, database } = await installThree();
      await database.transact((tx) =>
        tx
          .updateTable('updates')
          .set({ state: 'superseded' })
          .where('id', '=', ids[1] ?? '')
          .execute(),
      );
      await report(id, { status: 'success' });
      expect(await states()).toEqual(['installed', 'superseded', 'installed']);
    });

    test.each([
      ['an update of no command', [OTHER_UPDATE, 'failed'], '/updates/0/update_id'],
      ['a success that failed', [null, 'failed'], '/updates/0/outcome'],
    ] as const)('refuses a result with %s', async (_, [named, outcome], path) => {
      const { id, ids, report, states } = await installThree();
      const updates = [{ update_id: named ?? ids[0] ?? '', outcome }];
      const answer = await report(id, { status: named ? 'failed' : 'success', updates });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ errors: [{ path }] });
      expect(await states()).toEqual(['approved', 'approved', 'approved']);
    });

    test.each(['this host', 'another host'])(
      'refuses a result that names an approved update of %s outside the set',
      async (whose) => {
        const { database, platform, key, id, ids, report, states } = await installThree();
        const { agentId } = whose === 'this host' ? key : await insertTestAgent(database, { n: 2 });
        const expiresAtMs = platform.now() + 7 * 24 * 3_600_000;
        const of = { agentId, n: 4, state: 'approved', expiresAtMs };
        const { updateId } = await insertTestUpdate(database, of);
        const updates = [...ids, updateId].map((update_id) => ({
          ...{ update_id, outcome: 'installed' as const },
        }));
        const answer = await report(id, { status: 'success', updates });
        expect(answer.json()).toMatchObject({ errors: [{ path: '/updates/3/update_id' }] });
        expect(await states()).toEqual(['approved', 'approved', 'approved']);
        expect((await findUpdate(database.read, updateId))?.state).toBe('approved');
      },
    );

    test('cancelled: all return to pending, and their token is void', async () => {
      const { platform, database, id, states, voided } = await installThree();
      const command = await findCommand(database.read, id);
      if (!command) throw new Error('it is queued');
      await database.transact((tx) => cancelCommand(tx, platform, { command, by: 'ada' }));
      expect(await states()).toEqual(['pending', 'pending', 'pending']);
      expect(await voided()).toHaveLength(3);
    });

    test('withdrawn for one of them: the others return to pending, and say why', async () => {
      const { database, platform, ids, states, voided } = await installThree();
      await database.transact((tx) =>
        withdrawApprovals(tx, platform, {
          ...{ updateIds: ids.slice(0, 1), reason: 'taken_back', actor: 'ada' },
        }),
      );
      // The caller moves the one that it withdraws.
      expect(await states()).toEqual(['approved', 'pending', 'pending']);
      expect(await findUpdate(database.read, ids[1] ?? '')).toMatchObject({
        ...{ state_reason: 'approval_withdrawn: taken_back', approval_id: null },
      });
      expect(await voided()).toHaveLength(3);
    });
  });

  test.each(['failed', 'refused', 'interrupted'] as const)(
    'an install that ends %s fails its update, with the reason in the event',
    async (status) => {
      const { database, install, report, events } = await setUp();
      const { id, updateId } = await install();
      await report(id, { status, reason: 'plan_drift' });
      expect(await findUpdate(database.read, updateId)).toMatchObject({
        state: 'failed',
        state_reason: 'plan_drift',
      });
      const [event] = await events();
      expect(event).toMatchObject({ type: 'update_failed', severity: 'error' });
      expect(JSON.parse(event?.content ?? '')).toMatchObject({
        updates: [{ update_id: updateId, package: { name: 'package-1' } }],
        update_count: 1,
        status,
        reason: 'plan_drift',
      });
    },
  );

  test('steps without end, out of order and from the future move one command alone, and write no event', async () => {
    const { database, queue, install, report, events } = await setUp();
    const { id } = await install();
    await queue();
    const others = () =>
      database.read.selectFrom('agent_commands').selectAll().where('id', '<>', id).execute();
    const before = [await others(), await events()];
    const times = ['9999-12-31T23:59:59Z', '1970-01-01T00:00:00Z', '2026-11-21T09:00:00Z'];
    for (let n = 0; n < 60; n++) {
      const started_at = times[n % 3] ?? '';
      const installing_at = times[(n + 1) % 3] ?? '';
      expect((await report(id, { status: 'running', started_at })).statusCode).toBe(200);
      expect((await report(id, { status: 'running', installing_at })).statusCode).toBe(200);
    }
    expect([await others(), await events()]).toEqual(before);
    const { status, started_at, installing_at } = (await findCommand(database.read, id)) ?? {};
    // Of each time, the first that was said.
    const first = Date.parse('9999-12-31T23:59:59Z');
    expect({ status, started_at, installing_at }).toEqual({
      ...{ status: 'running', started_at: first, installing_at: first },
    });
  });

  test('a result after the end is 409 command_finished, also an identical one; a second "running" is not', async () => {
    const { install, report, events } = await setUp();
    const { id } = await install();
    await report(id, { status: 'running' });
    expect((await report(id, { status: 'running' })).statusCode).toBe(200);
    await report(id, { status: 'success' });
    for (const status of ['success', 'failed', 'running'] as const) {
      const response = await report(id, { status });
      expect([response.statusCode, response.json().code]).toEqual([409, 'command_finished']);
    }
    expect((await events()).length).toBe(1);
  });

  test('two concurrent results: one counts, the other is 409', async () => {
    const { install, report, events } = await setUp();
    const { id } = await install();
    const both = await Promise.all([report(id, { status: 'success' }), report(id, { status: 'failed' })]);
    expect(both.map((response) => response.statusCode).toSorted()).toEqual([200, 409]);
    expect((await events()).length).toBe(1);
  });

  test('a failed plan returns the update to the operators', async () => {
    const { database, key, queue, deliver, report } = await setUp();
    const { agentId } = key;
    const { updateId } = await insertTestUpdate(database, {
      agentId,
      n: 1,
      state: 'awaiting_plan',
      expiresAtMs: 9,
    });
    const named = { update_id: updateId, name: 'package-1', to_version: '1.1-1' };
    const params = { ecosystem: 'apt', updates: [named] };
    const id = await queue({ action: 'plan_update', params });
    await deliver();
    await report(id, { status: 'failed', reason: 'held packages' });
    expect(await findUpdate(database.read, updateId)).toMatchObject({
      state: 'pending',
      state_reason: 'plan_failed: held packages',
    });
  });

  test('start times of refused and end times of running results are 400', async () => {
    const { install, report } = await setUp();
    const { id } = await install();
    const at = '2026-11-21T09:00:01Z';
    expect((await report(id, { status: 'refused', started_at: at })).statusCode).toBe(400);
    expect((await report(id, { status: 'running', finished_at: at })).statusCode).toBe(400);
  });

  test('the commands of another agent, and undelivered ones, do not exist for an agent', async () => {
    const { database, key, queue, install, post, report } = await setUp();
    const { id } = await install();
    const other = await insertTestAgent(database, { n: 2 });
    expect((await post(`commands/${id}/result`, { status: 'success' }, other)).statusCode).toBe(404);
    const output = { seq: 0, stream: 'stdout', data: 'x' };
    expect((await post(`commands/${id}/output`, output, other)).statusCode).toBe(404);
    expect((await report(await queue(), { status: 'success' })).statusCode).toBe(404);
    expect(key.agentId).not.toBe(other.agentId);
  });

  test('output: a repeated seq is ignored, and the stream ends with the final status of the command', async () => {
    const { app, install, post, report } = await setUp();
    const { id } = await install();
    for (const [seq, data] of [
      [0, 'one\n'],
      [1, 'two\n'],
      [0, 'again\n'],
    ] as const) {
      const response = await post(`commands/${id}/output`, { seq, stream: 'stdout', data });
      expect(response.statusCode).toBe(202);
    }
    await report(id, { status: 'success' });
    const response = await app.inject({ method: 'GET', url: `/api/v1/commands/${id}/output` });
    expect(response.headers['content-type']).toContain('text/event-stream');
    expect(response.body).toBe(
      'id: 0\nevent: output\ndata: {"seq":0,"stream":"stdout","data":"one\\n"}\n\n' +
        'id: 1\nevent: output\ndata: {"seq":1,"stream":"stdout","data":"two\\n"}\n\n' +
        'event: end\ndata: {"status":"success"}\n\n',
    );
    const rest = await app.inject({
      method: 'GET',
      url: `/api/v1/commands/${id}/output`,
      headers: { 'last-event-id': '0' },
    });
    expect(rest.body.startsWith('id: 1\n')).toBe(true);
  });

  test('output past the limits is accepted and dropped, and the stream ends at the limits', async () => {
    const { app, install, post, report } = await setUp();
    const { id } = await install();
    const data = 'x'.repeat(OUTPUT_PIECE_MAX_CHARS);
    const fits = OUTPUT_MAX_CHARS / OUTPUT_PIECE_MAX_CHARS;
    for (let seq = 0; seq <= fits; seq++) {
      expect((await post(`commands/${id}/output`, { seq, stream: 'stdout', data })).statusCode).toBe(202);
    }
    const longer = { seq: 99, stream: 'stdout', data: `${data}x` };
    expect((await post(`commands/${id}/output`, longer)).statusCode).toBe(400);
    await report(id, { status: 'success' });
    const { body } = await app.inject({ method: 'GET', url: `/api/v1/commands/${id}/output` });
    expect(body.match(/^id: /gm)).toHaveLength(fits);
  });

  test('a watched output ends with the session of who watches', async () => {
    const { app, install, session } = await setUp();
    const { id } = await install();
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${url}/api/v1/commands/${id}/output`);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let looks = 0; looks < 25; ) looks += await readLooks(reader);
    session.caller = null;
    const rest = await restOf(reader);
    // At the next look at the session, not at the end of all looks.
    expect(looksIn(rest)).toBeLessThan(20);
    expect(rest).not.toContain('event: end');
  });

  test('a stop ends watched outputs, and does not wait for their commands', async () => {
    const { app, install } = await setUp();
    const { id } = await install();
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${url}/api/v1/commands/${id}/output`);
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    await readLooks(reader);
    // The command never ends: a stop that waited for it would not end either.
    await app.close();
    // Looks of before the stop may have come besides.
    expect(await restOf(reader)).toMatch(/^(: waiting\n\n)*$/);
  });

  test('events of an agent become security events; other types are 400', async () => {
    const { post, events } = await setUp();
    const event = {
      type: 'PLAN_DRIFT',
      severity: 'warning',
      message: 'x'.repeat(4_000),
      at: '2026-11-21T09:00:00Z',
    };
    const details = { package: 'openssl' };
    expect((await post('events', { events: [{ ...event, details }] })).statusCode).toBe(202);
    const [stored] = await events();
    expect(stored).toMatchObject({ kind: 'security', type: 'PLAN_DRIFT', severity: 'warning' });
    expect(JSON.parse(stored?.content ?? '')).toEqual({
      message: 'x'.repeat(1_000),
      at: event.at,
      details,
    });
    const forged = { ...event, type: 'MACHINE_REBOUND' };
    expect((await post('events', { events: [forged] })).statusCode).toBe(400);
    expect((await post('events', { events: Array.from({ length: 101 }, () => event) })).statusCode).toBe(400);
  });

  test('cancel withdraws an approval; a running command cannot be cancelled, a finished one is 409', async () => {
    const { app, database, voided, install, queue, deliver, report } = await setUp();
    const act = (id: string, what: string) =>
      app.inject({ method: 'POST', url: `/api/v1/commands/${id}/${what}` });
    const { id, updateId } = await install();
    expect((await act(id, 'cancel')).json()).toMatchObject({
      status: 'cancelled',
      reason: 'cancelled by ada',
    });
    expect((await findUpdate(database.read, updateId))?.state).toBe('pending');
    expect(await voided()).toEqual([{ update_id: updateId, void_reason: 'command_cancelled' }]);
    expect((await act(id, 'cancel')).json()).toMatchObject({ code: 'command_finished' });
    expect((await act(id, 'retry')).json()).toMatchObject({ code: 'conflict' });
    const running = await queue();
    await deliver();
    await report(running, { status: 'running' });
    expect((await act(running, 'cancel')).json()).toMatchObject({ code: 'conflict' });
    await report(running, { status: 'failed' });
    const retried = await act(running, 'retry');
    expect(retried.statusCode).toBe(202);
    expect(retried.json().command_id).not.toBe(running);
  });

  test('the list pages by cursor, newest first, and filters', async () => {
    const { app, queue } = await setUp();
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await queue(i === 2 ? { action: 'refresh_keys' } : {}));
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 3; page++) {
      const answer = (await app.inject(`/api/v1/commands?limit=2${cursor}`)).json();
      expect(answer.total).toBe(5);
      seen.push(...answer.items.map((item: { id: string }) => item.id));
      cursor = answer.next_cursor === null ? '' : `&cursor=${answer.next_cursor}`;
    }
    expect(seen).toEqual(ids.toReversed());
    const found = (await app.inject('/api/v1/commands?action=refresh_keys&status=pending')).json();
    expect(found.items.map((item: { id: string }) => item.id)).toEqual([ids[2]]);
    expect(found.items[0].hostname).toBe('host-1');
    expect((await app.inject(`/api/v1/commands/${ids[2]}`)).json().hostname).toBe('host-1');
    expect((await app.inject('/api/v1/commands?state=pending')).statusCode).toBe(400);
  });

  test('those of one bulk approval are listed by the id of its event, and nothing else', async () => {
    const { app, database, platform, queue, key } = await setUp();
    const { agentId: other } = await insertTestAgent(database, { n: 2, group: 'ours' });
    const [bulk, another] = ['01900000-0000-7000-8000-0000000000b1', '01900000-0000-7000-8000-0000000000b2'];
    const expiresAtMs = platform.now() + 1_000;
    const install = async (n: number, { agentId = key.agentId, bulkId = bulk as string | null } = {}) => {
      const update = await insertTestUpdate(database, { agentId, n, state: 'approved', expiresAtMs });
      const { tokenId } = update.approval;
      await database.transact((tx) =>
        tx.updateTable('approvals').set({ bulk_id: bulkId }).where('token_id', '=', tokenId).execute(),
      );
      return { update, id: await queue({ agentId, ...update, action: 'install_update' }) };
    };
    const [first, second] = [await install(1), await install(2)];
    const theirs = await install(3, { agentId: other });
    await install(4, { bulkId: null });
    await install(5, { bulkId: another });
    await queue();
    // The same update was approved again, by somebody else.
    await queue({
      ...{ action: 'install_update', params: first.update.params },
      approval: { tokenId: '01900000-0000-7000-a002-00000000beef', sha256: 'a'.repeat(64) },
    });
    const list = async (query: string, headers = {}) => {
      const { items, total } = (await app.inject({ url: `/api/v1/commands?${query}`, headers })).json();
      return [items.map((item: { id: string }) => item.id), total];
    };
    expect(await list(`bulk_id=${bulk}`)).toEqual([[theirs.id, second.id, first.id], 3]);
    expect(await list(`bulk_id=${bulk}&agent_id=${other}`)).toEqual([[theirs.id], 1]);
    expect(await list(`bulk_id=${bulk}`, { 'x-test-groups': 'ours' })).toEqual([[theirs.id], 1]);
    expect(await list('bulk_id=01900000-0000-7000-8000-0000000000b3')).toEqual([[], 0]);
    expect((await app.inject('/api/v1/commands?bulk_id=none')).statusCode).toBe(400);
  });
});

type Reader = ReadableStreamDefaultReader<string> | undefined;

/** Reads what has come of a watched output without any: one reading may have several looks. */
async function readLooks(reader: Reader): Promise<number> {
  const part = await reader?.read();
  expect(part?.value).toMatch(/^(: waiting\n\n)+$/);
  return looksIn(part?.value ?? '');
}

function looksIn(text: string): number {
  return text.split(': waiting').length - 1;
}

async function restOf(reader: Reader): Promise<string> {
  let text = '';
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value;
  return text;
}
