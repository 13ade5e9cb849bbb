import { CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { changeTags } from '../agents/tag-store.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { hasDueCommands } from '../check-in/store.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { queueCommand } from '../commands/queue-command.ts';
import { findCommand, listCommands } from '../commands/store.ts';
import { insertOperator } from '../operators/store.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { runPoliciesOnce } from '../policy-runs/run-policies.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { STANDING, STANDING_TERMS } from '../testing/standing.ts';
import { findUpdate } from '../updates/store.ts';

const URL = '/api/v1/blackouts';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The clock of tests starts at 09:00 on 21 November. */
const FREEZE = {
  name: 'Year end',
  reason: 'The shop earns its year.',
  scope: { kind: 'all' },
  times: { kind: 'once', starts_at: '2026-11-21T12:00:00Z', ends_at: '2026-11-22T12:00:00Z' },
};
const during = (from: string, until: string) => ({
  times: { kind: 'once', starts_at: `2026-${from}:00Z`, ends_at: `2026-${until}:00Z` },
});

describe.each(ENGINES)('blackouts on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const { database, platform, keyRing, agentId } = it;
    await database.transact(async (tx) => {
      const ada = { id: '01900000-0000-7000-a000-000000000001', username: 'ada', password_hash: 'x' };
      await insertOperator(tx, { ...ada, role: 'approver', groups: null, created_at: 1, disabled_at: null });
    });
    const freeze = async (change: object = {}) => {
      const { status, body } = await it.call('POST', URL, { ...FREEZE, ...change });
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    };
    const lift = (id: string) => it.call('POST', `${URL}/${id}/end`, { reason: 'The fire is out.' });
    const deliver = async () => {
      const visit = { agentId, machineId: 'machine-1', received: [] };
      const texts = await database.transact((tx) => deliverCommands(tx, platform, keyRing, visit));
      return texts.map((text) => {
        const { payload } = Value.Parse(Envelope, JSON.parse(text));
        return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
      });
    };
    const actions = async () => (await deliver()).map(({ action }) => action);
    const reboot = { boot_id: 'boot-1', warn_minutes: 0, cause: 'kernel' };
    const queue = (action: 'scan' | 'reboot') =>
      database.transact((tx) => {
        const params = action === 'reboot' ? reboot : {};
        return queueCommand(tx, platform, { agentId, action, params, createdBy: 'ada' });
      });
    const isDue = () => hasDueCommands(database.read, { agentId, nowMs: platform.now() });
    const commandOf = async (updateId: string) => {
      const asked = { filter: { updateId }, scope: null, limit: 10, before: null };
      return (await listCommands(database.read, asked)).at(0);
    };
    const stateOf = async (id: string) => (await findUpdate(database.read, id))?.state;
    const runPolicies = () => runPoliciesOnce(it.deps, createRefused());
    return { ...it, freeze, lift, deliver, actions, queue, isDue, commandOf, stateOf, runPolicies };
  }

  test('of a tag withhold the hosts that have it, and approvals outlive them there', async () => {
    const it = await scene();
    await it.freeze({ scope: { kind: 'some', groups: [], hosts: [], tags: ['env=prod'] } });
    const [first, second] = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    it.clock.advance(4 * HOUR_MS);
    await it.approve(first);
    const change = { agentId: it.agentId, set: ['env=prod'], remove: [], by: 'ada', atMs: 1 };
    await it.database.transact((tx) => changeTags(tx, change));
    expect(await it.actions()).toEqual([]);
    await it.approve(second);
    const tokens = await it.database.read.selectFrom('approvals').selectAll().orderBy('token_id').execute();
    const [before, after] = tokens.map((token) => token.expires_at);
    expect(Number(after) - Number(before)).toBe(23 * HOUR_MS);
    await it.database.transact((tx) => changeTags(tx, { ...change, set: [], remove: ['env'] }));
    expect(await it.actions()).toEqual(['install_update', 'install_update']);
  });

  test('withhold what changes a host from five minutes before to the end, and nothing else', async () => {
    const it = await scene();
    await it.freeze();
    const id = await it.addUpdate();
    it.clock.advance(3 * HOUR_MS - 5 * 60_000);
    expect((await it.approve(id)).status).toBe(200);
    await it.queue('reboot');
    expect([await it.actions(), await it.isDue()]).toEqual([[], false]);
    await it.queue('scan');
    expect([await it.isDue(), await it.actions()]).toEqual([true, ['scan']]);
    it.clock.advance(DAY_MS + 5 * 60_000 - 1);
    expect(await it.actions()).not.toContain('install_update');
    it.clock.advance(1);
    expect(await it.isDue()).toBe(true);
    expect(await it.actions()).toContain('install_update');
  });

  test('many withheld commands do not keep others from the host', async () => {
    const it = await scene();
    await it.freeze(during('11-21T08:00', '11-22T08:00'));
    for (let i = 0; i < 60; i++) await it.queue('reboot');
    await it.queue('scan');
    expect(await it.actions()).toEqual(['scan']);
  });

  test('what is delivered before one is signed to end before it, and is signed anew after it', async () => {
    const it = await scene();
    await it.freeze();
    const id = await it.addUpdate();
    await it.approve(id);
    const [before] = await it.deliver();
    expect(before?.expires_at).toBe('2026-11-21T11:55:00Z');
    expect(await it.deliver()).toEqual([before]);
    it.clock.advance(4 * HOUR_MS);
    expect(await it.deliver()).toEqual([]);
    // The host has not received it: so it may still come, with a life of its own.
    it.clock.advance(19 * HOUR_MS + 59 * 60_000);
    await it.lift((await it.call('GET', URL)).body.items[0].id);
    const [after] = await it.deliver();
    expect(after).toMatchObject({ command_id: before?.command_id, expires_at: '2026-11-22T09:00:00Z' });
    expect(after?.seq).toBeGreaterThan(before?.seq ?? Infinity);
  });

  test('commands that change nothing keep their life', async () => {
    const it = await scene();
    await it.freeze();
    await it.queue('scan');
    expect((await it.deliver())[0]?.expires_at).toBe('2026-11-22T09:00:00Z');
  });

  test('reach only the hosts of their scope', async () => {
    const it = await scene();
    await it.freeze({
      ...during('11-21T08:00', '11-22T08:00'),
      scope: { kind: 'some', groups: ['db'], hosts: [] },
    });
    await it.queue('reboot');
    expect(await it.actions()).toEqual(['reboot']);
    const named = { kind: 'some', groups: [], hosts: [it.agentId] };
    await it.freeze({ ...during('11-21T08:00', '11-22T08:00'), name: 'This one', scope: named });
    await it.queue('reboot');
    expect(await it.actions()).toEqual([]);
    await it.database.transact((tx) => tx.updateTable('agents').set({ group_name: 'db' }).execute());
    const { body } = await it.call('GET', URL);
    await it.lift(body.items[0].id);
    expect(await it.actions()).toEqual([]);
  });

  test('an approval lives seven days from the end of one, and is delivered as soon as somebody ends it', async () => {
    const it = await scene();
    const { id: blackoutId } = await it.freeze(during('11-21T08:00', '12-24T08:00'));
    const id = await it.addUpdate();
    expect((await it.approve(id)).status).toBe(200);
    const endMs = Date.parse('2026-12-24T08:00:00Z');
    const [token] = await it.database.read.selectFrom('approvals').selectAll().execute();
    expect(token?.expires_at).toBe(endMs + 7 * DAY_MS);
    for (let day = 0; day < 20; day++) {
      it.clock.advance(DAY_MS);
      expect(await it.actions()).toEqual([]);
    }
    expect(await it.stateOf(id)).toBe('approved');
    expect((await it.lift(blackoutId)).status).toBe(200);
    expect(await it.actions()).toEqual(['install_update']);
  });

  test('keep policies from asking, and their preview says so', async () => {
    const it = await scene();
    await it.call('POST', '/api/v1/policies', STANDING);
    const { id: blackoutId } = await it.freeze(during('11-21T08:00', '11-22T08:00'));
    const id = await it.addUpdate();
    await it.runPolicies();
    expect(await it.stateOf(id)).toBe('pending');
    const draft = { scope: { kind: 'all' }, terms: STANDING_TERMS, windows: [] };
    const preview = async () => (await it.call('POST', '/api/v1/policies/preview', draft)).body;
    expect(await preview()).toMatchObject({
      ...{ hosts: 1, approves: 0, leaves: 1 },
      reasons: [{ reason: 'blackout', count: 1 }],
    });
    await it.lift(blackoutId);
    expect((await preview()).reasons).not.toContainEqual(expect.objectContaining({ reason: 'blackout' }));
    await it.runPolicies();
    expect(await it.stateOf(id)).toBe('approved');
  });

  test('what waits for a plan in the name of a policy is not minted past the window that ends in one', async () => {
    const it = await scene();
    const window = {
      ...{ rrule: null, starts_on: '2026-11-21', start: '08:00', zone: 'UTC', duration_minutes: 180 },
    };
    await it.call('POST', '/api/v1/policies', { ...STANDING, windows: [window] });
    const id = await it.addUpdate({ plan: null });
    await it.runPolicies();
    expect(await it.stateOf(id)).toBe('awaiting_plan');
    await it.freeze(during('11-21T08:00', '11-22T08:00'));
    await it.addPlan([id], [actionOf({ name: 'openssl', version: '3.0.12-1' })]);
    await sweepOnce(it.deps);
    expect(await it.commandOf(id)).not.toMatchObject({ action: 'install_update' });
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('a host that has begun before one is not cut short', async () => {
    const it = await scene();
    await it.freeze();
    const id = await it.addUpdate();
    await it.approve(id);
    const [command] = await it.deliver();
    const received = [command?.command_id ?? ''];
    await it.database.transact((tx) =>
      deliverCommands(tx, it.platform, it.keyRing, {
        ...{ agentId: it.agentId, machineId: 'machine-1', received },
      }),
    );
    it.clock.advance(4 * HOUR_MS);
    expect(await findCommand(it.database.read, received[0] ?? '')).toMatchObject({ status: 'received' });
  });

  test('say when they withhold and when they come next; events say who and why', async () => {
    const it = await scene();
    const weekly = {
      ...{ rrule: 'FREQ=WEEKLY;BYDAY=SA,SU', starts_on: '2026-01-01', start: '08:00' },
      ...{ zone: 'UTC', duration_minutes: 120 },
    };
    const { id } = await it.freeze({ times: { kind: 'recurring', schedule: weekly } });
    const read = async () => (await it.call('GET', `${URL}/${id}`)).body;
    expect(await read()).toMatchObject({
      ...{ state: 'active', created_by: 'ada', ended_by: null },
      active: { starts_at: '2026-11-21T08:00:00.000Z', ends_at: '2026-11-21T10:00:00.000Z' },
    });
    expect((await read()).next.map(({ starts_at }: { starts_at: string }) => starts_at)).toEqual([
      ...['2026-11-22', '2026-11-28', '2026-11-29', '2026-12-05', '2026-12-06'].map(
        (day) => `${day}T08:00:00.000Z`,
      ),
    ]);
    it.clock.advance(2 * HOUR_MS);
    expect(await read()).toMatchObject({ state: 'upcoming', active: null });
    expect((await it.lift(id)).body).toMatchObject({
      ...{ state: 'ended', active: null, next: [], ended_by: 'ada', end_reason: 'The fire is out.' },
    });
    const events = await it.database.read.selectFrom('events').selectAll().orderBy('id').execute();
    expect(events.map(({ type, content }) => [type, JSON.parse(content)])).toMatchObject([
      ['blackout_created', { blackout_id: id, name: 'Year end', reason: FREEZE.reason, actor: 'ada' }],
      ['blackout_ended', { blackout_id: id, name: 'Year end', reason: 'The fire is out.', actor: 'ada' }],
    ]);
  });

  test('a name is free again once its blackout is over or ended, and an end counts once', async () => {
    const it = await scene();
    const { id } = await it.freeze();
    expect(await it.call('POST', URL, FREEZE)).toMatchObject({ status: 409, code: 'conflict' });
    it.clock.advance(2 * DAY_MS);
    expect((await it.call('GET', `${URL}/${id}`)).body).toMatchObject({ state: 'over' });
    expect((await it.lift(id)).status).toBe(404);
    const { id: second } = await it.freeze(during('11-24T08:00', '11-25T08:00'));
    expect((await it.call('GET', `${URL}/${id}`)).body).toMatchObject({ state: 'over', ended_by: null });
    expect((await it.lift(second)).status).toBe(200);
    expect((await it.lift(second)).status).toBe(404);
    await it.freeze(during('11-24T08:00', '11-25T08:00'));
    expect((await it.call('GET', `${URL}?limit=2`)).body).toMatchObject({ total: 3, items: [{}, {}] });
  });

  test.each<[string, object, string]>([
    ['no host', { scope: { kind: 'some', groups: [], hosts: [] } }, '/scope'],
    [
      'an unknown host',
      { scope: { kind: 'some', groups: [], hosts: ['01900000-0000-7000-8000-00000000beef'] } },
      '/scope/hosts',
    ],
    ['an end in the past', during('11-19T08:00', '11-20T08:00'), '/times/ends_at'],
  ])('%s is refused, and nothing is stored', async (_, change, path) => {
    const it = await scene();
    expect(await it.call('POST', URL, { ...FREEZE, ...change })).toMatchObject({
      ...{ status: 400, code: 'invalid_request' },
      body: { errors: [{ path }] },
    });
    expect((await it.call('GET', URL)).body).toMatchObject({ total: 0, items: [] });
  });
});
