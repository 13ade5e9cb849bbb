import { describe, expect, test, vi } from 'vitest';
import { changeTags } from '../agents/tag-store.ts';
import { enforceHolds } from '../approvals/enforce-holds.ts';
import { readRecord } from '../approvals/read-decision.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { insertOperator } from '../operators/store.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { runPoliciesOnce } from '../policy-runs/run-policies.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { HOLD, STANDING } from '../testing/standing.ts';
import { findUpdate } from '../updates/store.ts';
import { placeHold, recordEndedHolds } from './manage-holds.ts';

const URL = '/api/v1/holds';
const DAY_MS = 86_400_000;
const OVERRIDE = { override_supply_chain: true, override_reason: 'we need it' };

describe.each(ENGINES)('holds on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const { database, platform, keyRing, agentId } = it;
    await database.transact(async (tx) => {
      const ada = { id: '01900000-0000-7000-a000-000000000001', username: 'ada', password_hash: 'x' };
      await insertOperator(tx, { ...ada, role: 'approver', groups: null, created_at: 1, disabled_at: null });
    });
    const hold = async (change: object = {}) => {
      const { status, body } = await it.call('POST', URL, { ...HOLD, ...change });
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    };
    const read = async (id: string) => (await it.call('GET', `${URL}/${id}`)).body;
    const stateOf = async (id: string) => {
      const row = await findUpdate(database.read, id);
      return [row?.state, row?.state_reason];
    };
    const deliver = () =>
      database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { agentId, machineId: 'machine-1', received: [] }),
      );
    const events = async (type: string) => {
      const rows = await database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
      return rows.map(({ content, severity, actor }) => ({ ...JSON.parse(content), severity, actor }));
    };
    return { ...it, hold, read, stateOf, deliver, events };
  }

  test('stop whatever would change a held package, anywhere in the closure, and no override passes', async () => {
    const it = await scene();
    const own = await it.addUpdate();
    const dependent = await it.addUpdate({
      name: 'nginx',
      plan: [
        actionOf({ name: 'nginx', version: '3.0.12-1' }),
        actionOf({ name: 'openssl', version: '3.0.12-1' }),
      ],
    });
    const free = await it.addUpdate({ name: 'curl' });
    const { id } = await it.hold();
    const held = [
      {
        ...{ package: 'openssl', version: '3.0.12-1', hold_id: id, reason: HOLD.reason },
        ends_at: '2026-12-01T00:00:00.000Z',
      },
    ];
    for (const update of [own, dependent]) {
      for (const body of [undefined, OVERRIDE]) {
        expect(await it.approve(update, body)).toMatchObject({
          ...{ status: 409, code: 'approval_blocked' },
          body: { blocked_by: 'hold', reason: 'held', overridable: false, held },
        });
      }
    }
    expect((await it.approve(free)).status).toBe(200);
    expect(await it.events('supply_chain_override')).toEqual([]);
    const [row] = await it.database.read.selectFrom('decisions').selectAll().orderBy('id').execute();
    if (!row) throw new Error('no decision');
    expect(readRecord(row).facts.judged?.held?.items).toMatchObject([{ package: 'openssl', hold_id: id }]);
  });

  test('let packages pass again from their end, and once released', async () => {
    const it = await scene();
    const [first, second] = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    const { id } = await it.hold();
    await it.hold({ packages: ['curl'], ends_at: '2026-12-02T00:00:00Z' });
    expect((await it.call('DELETE', `${URL}/${id}`)).status).toBe(204);
    expect((await it.call('DELETE', `${URL}/${id}`)).status).toBe(404);
    expect((await it.approve(first)).status).toBe(200);
    it.clock.advance(Date.parse('2026-12-02T00:00:00Z') - it.platform.now() - 1);
    expect((await it.approve(second)).status).toBe(409);
    it.clock.advance(1);
    expect((await it.approve(second)).status).toBe(200);
  });

  test('of other hosts, packages and ecosystems stop nothing', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    await it.hold({ scope: { kind: 'some', groups: [], hosts: [other] } });
    await it.hold({ packages: ['openssl-*'] });
    await it.hold({ ecosystems: ['dnf', 'npm', 'pypi'] });
    expect((await it.approve(await it.addUpdate())).status).toBe(200);
    expect((await it.approve(await it.addUpdate({ agentId: other }))).status).toBe(409);
  });

  test('of a tag stop approvals and deliveries of the hosts that have it', async () => {
    const it = await scene();
    const change = (set: string[], remove: string[]) =>
      it.database.transact((tx) => changeTags(tx, { agentId: it.agentId, set, remove, by: 'ada', atMs: 1 }));
    const [first, second] = [await it.addUpdate(), await it.addUpdate({ name: 'openssl-doc' })];
    await it.hold({
      packages: ['openssl*'],
      scope: { kind: 'some', groups: [], hosts: [], tags: ['pin=ssl'] },
    });
    expect((await it.approve(first)).status).toBe(200);
    await change(['pin=ssl'], []);
    expect(await it.deliver()).toEqual([]);
    expect(await it.approve(second)).toMatchObject({ status: 409, body: { blocked_by: 'hold' } });
    await change([], ['pin']);
    expect((await it.approve(second)).status).toBe(200);
  });

  test('leave one update out of a set, and approve the others', async () => {
    const it = await scene();
    const [held, free, more] = [
      await it.addUpdate(),
      await it.addUpdate({ name: 'curl' }),
      await it.addUpdate({ name: 'zlib' }),
    ];
    await it.hold();
    const { body } = await it.call('POST', '/api/v1/updates/approve', {
      update_ids: [held, free, more],
    });
    expect(body.blocked).toMatchObject([{ update_id: held, blocked_by: 'hold', held: [{}] }]);
    const states = await Promise.all([held, free, more].map(it.stateOf));
    expect(states.map(([state]) => state)).toEqual(['pending', 'awaiting_plan', 'awaiting_plan']);
  });

  test('withdraw what was approved before them, and what is delivered meanwhile is not', async () => {
    const it = await scene();
    const [held, free] = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    await it.approve(held);
    await it.approve(free);
    await it.hold();
    const delivered = await it.deliver();
    expect(delivered).toHaveLength(1);
    await enforceHolds(it.deps);
    expect(await it.stateOf(held)).toEqual(['pending', 'held']);
    expect((await it.stateOf(free))[0]).toBe('approved');
    const tokens = await it.database.read.selectFrom('approvals').selectAll().orderBy('token_id').execute();
    expect(tokens.map((row) => row.void_reason)).toEqual(['held', null]);
  });

  test('an approval that the withdrawal passed by is withdrawn when its host asks', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    await it.approve(id);
    await it.hold();
    await it.database.transact((tx) => tx.updateTable('holds').set({ enforced_at: 1 }).execute());
    await enforceHolds(it.deps);
    expect((await it.stateOf(id))[0]).toBe('approved');
    expect(await it.deliver()).toEqual([]);
    await enforceHolds(it.deps);
    expect(await it.stateOf(id)).toEqual(['pending', 'held']);
  });

  test('one that is placed while an approval is judged counts', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    // Afterwards everything is known: the first transaction of the approval is the one that mints.
    await it.call('POST', `/api/v1/updates/${id}/preview`);
    const transact = it.database.transact.bind(it.database);
    const spy = vi.spyOn(it.database, 'transact').mockImplementationOnce(async (work) => {
      await transact((tx) => placeHold(tx, it.platform, { request: HOLD, actor: 'ada' }));
      return transact(work);
    });
    expect(await it.approve(id)).not.toMatchObject({ status: 200 });
    expect(spy).toHaveBeenCalled();
    expect(await it.stateOf(id)).toEqual(['pending', null]);
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('what waits for its plan is handed back, and policies leave it to people', async () => {
    const it = await scene();
    const waiting = await it.addUpdate({ plan: null });
    expect((await it.approve(waiting)).status).toBe(202);
    await it.hold();
    await it.addPlan([waiting], [actionOf({ name: 'openssl', version: '3.0.12-1' })]);
    await sweepOnce(it.deps);
    expect(await it.stateOf(waiting)).toEqual(['pending', 'hold: held']);
    await it.call('POST', '/api/v1/policies', STANDING);
    await runPoliciesOnce(it.deps, createRefused());
    expect((await it.stateOf(waiting))[0]).toBe('pending');
    const { body } = await it.call('POST', '/api/v1/policies/preview', {
      ...{ scope: STANDING.scope, terms: STANDING.terms, windows: [] },
    });
    expect(body).toMatchObject({ approves: 0, reasons: [{ reason: 'held' }] });
  });

  test('say what they keep back now, security updates apart', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    await it.addUpdate();
    const secure = await it.addUpdate({ name: 'openssl-doc', agentId: other });
    await it.addUpdate({ name: 'curl' });
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ security: 1 }).where('id', '=', secure).execute(),
    );
    const { id, held } = await it.hold({ packages: ['openssl*'] });
    expect(held).toEqual({ updates: 2, security_updates: 1, hosts: 2 });
    expect(await it.read(id)).toMatchObject({ state: 'in_force', held });
    const named = await it.hold({ scope: { kind: 'some', groups: [], hosts: [other] }, packages: ['*'] });
    expect(named.held).toEqual({ updates: 1, security_updates: 1, hosts: 1 });
    const none = await it.hold({ packages: ['nothing'] });
    expect(none.held).toEqual({ updates: 0, security_updates: 0, hosts: 0 });
  });

  test('their end is an event, once, whether anybody looks or not', async () => {
    const it = await scene();
    const { id } = await it.hold();
    const { id: released } = await it.hold({ packages: ['curl'] });
    await it.call('DELETE', `${URL}/${released}`);
    it.clock.advance(30 * DAY_MS);
    expect(await it.read(id)).toMatchObject({ state: 'expired', held: null });
    for (let i = 0; i < 2; i++) await recordEndedHolds(it.platform);
    expect(await it.read(id)).toMatchObject({ state: 'expired', ended_by: 'server' });
    expect(await it.read(released)).toMatchObject({ state: 'released', ended_by: 'ada' });
    expect(await it.events('hold_placed')).toMatchObject([{ hold_id: id }, { hold_id: released }]);
    expect(await it.events('hold_released')).toMatchObject([{ hold_id: released, actor: 'ada' }]);
    expect(await it.events('hold_expired')).toMatchObject([
      { hold_id: id, packages: ['openssl'], severity: 'warning', actor: 'server' },
    ]);
    expect((await it.call('GET', `${URL}?limit=1`)).body).toMatchObject({ total: 2, items: [{}] });
  });

  test.each<[string, object, string]>([
    ['no host', { scope: { kind: 'some', groups: [], hosts: [] } }, '/scope'],
    [
      'an unknown host',
      { scope: { kind: 'some', groups: [], hosts: ['01900000-0000-7000-8000-00000000beef'] } },
      '/scope/hosts',
    ],
    ['an end in the past', { ends_at: '2026-11-20T00:00:00Z' }, '/ends_at'],
    ['an end in more than a year', { ends_at: '2027-11-22T00:00:00Z' }, '/ends_at'],
  ])('%s is refused, and nothing is stored', async (_, change, path) => {
    const it = await scene();
    expect(await it.call('POST', URL, { ...HOLD, ...change })).toMatchObject({
      ...{ status: 400, code: 'invalid_request' },
      body: { errors: [{ path }] },
    });
    expect((await it.call('GET', URL)).body).toMatchObject({ total: 0 });
  });
});
