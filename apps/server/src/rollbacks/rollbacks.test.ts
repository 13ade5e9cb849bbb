import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf, type RollbackAction } from '@tidegate/protocol/rollbacks';
import { describe, expect, test } from 'vitest';
import { sweepOnce } from '../approvals/sweep.ts';
import { recordResult } from '../commands/record-result.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { recordScan } from '../updates/record-scan.ts';
import { updatesThatBrought } from '../updates/rollbacks-store.ts';
import { findUpdate } from '../updates/store.ts';
import { takePlan } from '../updates/take-plan.ts';

const OLD = '1.0.0-1';
const NEW = '1.1-1';
const REASON = 'the service does not start';

describe.each(ENGINES)('rollbacks on $name', (engine) => {
  /** A host on which an approval has updated `demo` and brought `libdemo`. */
  async function scene(result: 'success' | 'failed' = 'success', hash = '') {
    const it = await createApprovalsApp(engine);
    const { size_bytes = 0, sha256 = hash } = actionOf({ name: 'demo', version: OLD }).artifact ?? {};
    const back = { size_bytes, sha256: hash === '' ? sha256 : hash };
    const actions = [
      actionOf({ name: 'demo', version: NEW, fields: { back } }),
      {
        ...actionOf({ name: 'libdemo', version: NEW, fields: { action: 'install' } }),
        from_version: undefined,
      },
    ].map(({ from_version: from, ...action }) =>
      from === undefined ? action : { ...action, from_version: from },
    );
    const id = await it.addUpdate({ name: 'demo', version: NEW, plan: actions });
    expect((await it.approve(id)).status).toBe(200);
    await carryOut(it, id, result);
    await setInstalled(it, { demo: NEW, libdemo: NEW });
    return { it, id, actions };
  }

  async function carryOut(it: ApprovalsApp, updateId: string, status: 'success' | 'failed') {
    await it.database.transact(async (tx) => {
      const own = tx.selectFrom('command_updates').select('command_id').where('update_id', '=', updateId);
      const query = tx.selectFrom('agent_commands').select('id').where('id', 'in', own);
      const { id } = await query.where('action', '=', 'install_update').executeTakeFirstOrThrow();
      await tx.updateTable('agent_commands').set({ status: 'sent' }).where('id', '=', id).execute();
      await recordResult(tx, it.platform, { agentId: it.agentId, commandId: id, result: { status } });
    });
  }

  async function setInstalled(it: ApprovalsApp, versions: Record<string, string>) {
    await it.database.transact(async (tx) => {
      await tx.deleteFrom('installed_packages').execute();
      const nothing = { source_name: null, source_version: null, origin: null, held: 0 };
      const host = { agent_id: it.agentId, ecosystem: 'apt', arch: 'amd64', ...nothing };
      const rows = Object.entries(versions).map(([name, version]) => ({ ...host, name, version }));
      await insertInstalled(tx, rows);
    });
  }

  const rollBack = (it: ApprovalsApp, ids: readonly string[]) =>
    it.call('POST', '/api/v1/updates/rollback', { update_ids: ids, reason: REASON });
  async function requested(it: ApprovalsApp, id: string): Promise<string> {
    const { body } = await rollBack(it, [id]);
    expect(body).toMatchObject({ requested: [{ agent_id: it.agentId, undoes: [id] }], skipped: [] });
    return body.requested[0].update_id;
  }

  /** What the host plans for the undo of these actions. */
  const undoPlan = (actions: readonly PlanAction[]): PlanAction[] =>
    inverseOf(actions).map((undo: RollbackAction) =>
      undo.action === 'remove'
        ? undo
        : {
            ...actionOf({ name: undo.name, version: undo.to_version ?? '' }),
            ...undo,
          },
    );
  const send = (it: ApprovalsApp, id: string, actions: PlanAction[]) =>
    takePlan(
      { platform: it.platform, large: { admit: (_, work) => work() } },
      {
        agentId: it.agentId,
        report: { sets: [[id]], plan: { resolved_at: '2026-11-21T09:00:00Z', actions } },
      },
    );
  const rowOf = (it: ApprovalsApp, id: string) => findUpdate(it.database.read, id);

  test('an installation is undone by an update that waits for its plan, with the opposite of each action', async () => {
    const { it, id, actions } = await scene();
    const rollback = await requested(it, id);
    expect(await rowOf(it, rollback)).toMatchObject({
      ...{
        name: 'demo',
        current_version: NEW,
        available_version: OLD,
        state: 'awaiting_plan',
        taken_back: 1,
      },
    });
    const command = await it.database.read
      .selectFrom('agent_commands')
      .select('params')
      .where('action', '=', 'plan_update')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(command.params)).toEqual({
      ecosystem: 'apt',
      updates: [{ update_id: rollback, name: 'demo', to_version: OLD }],
      undo: [
        { action: 'downgrade', name: 'demo', from_version: NEW, to_version: OLD },
        { action: 'remove', name: 'libdemo', from_version: NEW },
      ],
    });
    expect(await send(it, rollback, undoPlan(actions))).toMatchObject({ kind: 'stored' });
    await sweepOnce(it.deps);
    expect(await rowOf(it, rollback)).toMatchObject({ state: 'approved' });
    const token = await it.database.read
      .selectFrom('approvals as a')
      .innerJoin('approval_updates as m', 'm.token_id', 'a.token_id')
      .select(['a.envelope', 'a.approved_by'])
      .where('m.update_id', '=', rollback)
      .executeTakeFirstOrThrow();
    const payload = JSON.parse(Buffer.from(JSON.parse(token.envelope).payload, 'base64').toString());
    expect(payload).toMatchObject({ override: null, actions: undoPlan(actions) });
    expect(token.approved_by).toBe('ada');
  });

  test('a vulnerable old version is stopped, and passes with an override and a reason alone', async () => {
    const { it, id, actions } = await scene();
    it.vulnerable({ name: 'demo', version: OLD });
    const rollback = await requested(it, id);
    await send(it, rollback, undoPlan(actions));
    await sweepOnce(it.deps);
    expect(await rowOf(it, rollback)).toMatchObject({ state: 'pending' });
    const plain = await it.approve(rollback, {});
    expect(plain).toMatchObject({ status: 409, code: 'approval_blocked' });
    const body = { override_supply_chain: true, override_reason: 'the service must run' };
    expect(await it.approve(rollback, body)).toMatchObject({ status: 200 });
    expect(await rowOf(it, rollback)).toMatchObject({ state: 'approved' });
  });

  test('another old file than the one that was named before is a divergence, which no override passes', async () => {
    const { it, id, actions } = await scene('success', 'b'.repeat(64));
    const rollback = await requested(it, id);
    await send(it, rollback, undoPlan(actions));
    await sweepOnce(it.deps);
    expect(await rowOf(it, rollback)).toMatchObject({ state: 'pending' });
    const body = { override_supply_chain: true, override_reason: 'never mind' };
    expect((await it.approve(rollback, body)).body).toMatchObject({
      blocked_by: 'divergence',
    });
  });

  test.each<[string, (plan: PlanAction[]) => PlanAction[]]>([
    ['brings another package', (plan) => [...plan, actionOf({ name: 'evil', version: '6.6' })]],
    ['removes another package', (plan) => [...plan, { action: 'remove', name: 'sshd', from_version: '1' }]],
    [
      'goes to another version',
      (plan) => plan.map((one) => (one.name === 'libdemo' ? { ...one, from_version: '9' } : one)),
    ],
  ])('a plan that %s is refused', async (_, spoil) => {
    const { it, id, actions } = await scene();
    const rollback = await requested(it, id);
    expect(await send(it, rollback, spoil(undoPlan(actions)))).toMatchObject({ kind: 'unsound' });
    await sweepOnce(it.deps);
    expect(await rowOf(it, rollback)).toMatchObject({ state: 'awaiting_plan', plan_id: null });
  });

  test('what is undone already may be missing in the plan', async () => {
    const { it, id, actions } = await scene();
    const rollback = await requested(it, id);
    const [demo] = undoPlan(actions);
    expect(await send(it, rollback, demo ? [demo] : [])).toMatchObject({ kind: 'stored' });
  });

  test('a rollback that this server did not order gets no plan', async () => {
    const { it, id, actions } = await scene();
    const rollback = await requested(it, id);
    const undo = [...inverseOf(actions), { action: 'install', name: 'evil', to_version: '6.6' }];
    await it.database.transact((tx) =>
      tx
        .updateTable('rollbacks')
        .set({ actions: JSON.stringify(undo) })
        .execute(),
    );
    expect(await send(it, rollback, undoPlan(actions))).toMatchObject({ kind: 'unsound' });
  });

  test('a failed installation is undone as well, if its version is on the host', async () => {
    const { it, id } = await scene('failed');
    await requested(it, id);
  });

  test('nothing is undone that is not there', async () => {
    const { it, id } = await scene('failed');
    const skipped = async () => (await rollBack(it, [id])).body.skipped;
    await setInstalled(it, { demo: OLD });
    expect(await skipped()).toEqual([{ update_id: id, agent_id: it.agentId, code: 'not_installed' }]);
    const other = await it.addUpdate({ name: 'other', version: NEW });
    expect((await rollBack(it, [other])).body.skipped).toEqual([
      { update_id: other, agent_id: it.agentId, code: 'not_installed' },
    ]);
  });

  test('what has moved on since is left alone', async () => {
    const { it, id } = await scene();
    await setInstalled(it, { demo: '2.0-1' });
    expect((await rollBack(it, [id])).body.skipped).toEqual([
      { update_id: id, agent_id: it.agentId, code: 'changed_since' },
    ]);
  });

  test('a dry run says what would be undone, and writes nothing; anything else needs a reason', async () => {
    const { it, id, actions } = await scene();
    const url = '/api/v1/updates/rollback';
    const { body } = await it.call('POST', url, { update_ids: [id], dry_run: true });
    expect(body.requested).toEqual([
      expect.objectContaining({ update_id: null, actions: inverseOf(actions), action_count: 2 }),
    ]);
    const rows = it.database.read.selectFrom('updates').selectAll();
    expect(await rows.execute()).toMatchObject([{ id, taken_back: 0 }]);
    expect((await it.call('POST', url, { update_ids: [id] })).status).toBe(400);
  });

  test('of two requests at once one is made, and a second one while it runs is skipped', async () => {
    const { it, id } = await scene();
    const answers = await Promise.all([rollBack(it, [id]), rollBack(it, [id, id])]);
    const made = answers.flatMap(({ body }) => body.requested);
    expect(made).toHaveLength(1);
    expect((await rollBack(it, [id])).body.skipped).toEqual([
      { update_id: id, agent_id: it.agentId, code: 'under_way' },
    ]);
    const again = await it.call('POST', `/api/v1/updates/${made[0].update_id}/reject`, {});
    expect(again.status).toBe(200);
    await requested(it, id);
  });

  test('a version is taken back on a list of hosts, and those that do not have it are named', async () => {
    const { it, id } = await scene();
    const nobody = '00000000-0000-7000-8000-000000000000';
    const installed = { ecosystem: 'apt', name: 'demo', version: NEW, agent_ids: [nobody, it.agentId] };
    const ask = async (body: object) =>
      (await it.call('POST', '/api/v1/updates/rollback', { reason: REASON, ...body })).body;
    expect(await ask({ installed: { ...installed, version: '9' } })).toEqual({
      requested: [],
      skipped: [
        { agent_id: nobody, code: 'not_found' },
        { agent_id: it.agentId, code: 'not_installed' },
      ],
    });
    expect(await ask({ installed })).toMatchObject({
      requested: [{ agent_id: it.agentId, undoes: [id] }],
      skipped: [{ agent_id: nobody, code: 'not_found' }],
    });
    expect((await ask({ installed })).skipped).toContainEqual({
      update_id: id,
      agent_id: it.agentId,
      code: 'under_way',
    });
  });

  test('of a version that came twice the newest installation is undone', async () => {
    const { it, id } = await scene();
    const version = { ecosystem: 'apt' as const, name: 'demo', version: NEW };
    const of = { ...version, agent_ids: [it.agentId] };
    const again = await it.addUpdate({ name: 'demo', version: NEW });
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ state: 'installed' }).where('id', '=', again).execute(),
    );
    expect(again > id).toBe(true);
    expect(await updatesThatBrought(it.database.read, of)).toEqual([{ id: again, agent_id: it.agentId }]);
  });

  test.each([{}, { update_ids: [], installed: {} }])('a request that names %j is refused', async (names) => {
    const { it, id } = await scene();
    const installed = { ecosystem: 'apt', name: 'demo', version: NEW, agent_ids: [it.agentId] };
    const body = { reason: REASON, ...('installed' in names ? { update_ids: [id], installed } : {}) };
    expect((await it.call('POST', '/api/v1/updates/rollback', body)).status).toBe(400);
  });

  test('an update that was undone is left to people when the host offers it again', async () => {
    const { it, id } = await scene();
    await requested(it, id);
    it.clock.advance(60_000);
    const offered = { name: 'demo', current_version: OLD, available_version: NEW };
    const scan = (versions: string, updates: object[]) => ({
      scanned_at: new Date(it.platform.now() + 1_000).toISOString(),
      complete: true,
      packages: [{ name: 'demo', version: versions }],
      updates: updates.map(() => offered),
    });
    const of = { agentId: it.agentId, ecosystem: 'apt' as const };
    await it.database.transact((tx) => recordScan(tx, it.platform, { ...of, report: scan(OLD, [{}]) }));
    const rows = await it.database.read
      .selectFrom('updates')
      .selectAll()
      .where('name', '=', 'demo')
      .orderBy('id')
      .execute();
    expect(rows.map((row) => [row.available_version, row.state, row.taken_back])).toEqual([
      [NEW, 'installed', 1],
      [OLD, 'installed', 1],
      [NEW, 'pending', 1],
    ]);
  });

  test('the event names who asked, why, and what is undone', async () => {
    const { it, id } = await scene();
    const rollback = await requested(it, id);
    const query = it.database.read.selectFrom('events').selectAll().where('type', '=', 'rollback_requested');
    const event = await query.executeTakeFirstOrThrow();
    expect(JSON.parse(event.content)).toMatchObject({
      ...{ actor: 'ada', reason: REASON, rollback_id: rollback, update_count: 1 },
      updates: [{ update_id: id }],
    });
  });
});
