import { describe, expect, test } from 'vitest';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { sweepOnce } from './sweep.ts';

describe.each(ENGINES)('two offered versions of one package of a host on $name', (engine) => {
  const plan = (version: string) => [
    actionOf({ name: 'left-pad', version, ecosystem: 'npm', fields: { arch: '/usr' } }),
  ];

  async function setUp(plans: { small?: null; great?: null } = {}) {
    const it = await createApprovalsApp(engine);
    const add = (version: string, isPlanned: boolean) =>
      it.addUpdate({ name: 'left-pad', ecosystem: 'npm', version, plan: isPlanned ? plan(version) : null });
    const small = await add('1.2.0', plans.small !== null);
    const great = await add('2.0.0', plans.great !== null);
    return { it, small, great };
  }

  const stateOf = async (it: ApprovalsApp, id: string) => (await findUpdate(it.database.read, id))?.state;
  const liveTokens = async (it: ApprovalsApp) =>
    (
      await it.database.read
        .selectFrom('approval_updates')
        .select('update_id')
        .where('live', '=', 1)
        .execute()
    ).map(({ update_id }) => update_id);

  test('never have a live token each: the second approval is refused and says what to do', async () => {
    const { it, small, great } = await setUp();
    expect((await it.approve(small)).status).toBe(200);
    const second = await it.approve(great);
    expect(second).toMatchObject({ status: 409, code: 'conflict' });
    expect(second.body.detail).toBe(
      'Version 1.2.0 of this package is approved for this host. Withdraw that approval first.',
    );
    expect(await stateOf(it, great)).toBe('pending');
    expect(await liveTokens(it)).toEqual([small]);
    // As the answer says.
    expect((await it.call('POST', `/api/v1/updates/${small}/reopen`)).status).toBe(200);
    expect((await it.approve(great)).status).toBe(200);
    expect(await liveTokens(it)).toEqual([great]);
  });

  test('of both approved at the same moment one is', async () => {
    const { it, small, great } = await setUp();
    const answers = await Promise.all([it.approve(small), it.approve(great)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(await liveTokens(it)).toHaveLength(1);
  });

  test('in one bulk request one is approved and the other skipped', async () => {
    const { it, small, great } = await setUp();
    const { body } = await it.call('POST', '/api/v1/updates/approve', { update_ids: [small, great] });
    expect(body.approved).toHaveLength(1);
    expect(body.skipped).toEqual([{ update_id: great, code: 'conflict' }]);
    expect(await liveTokens(it)).toEqual([small]);
  });

  test('that wait for plans: the second is refused', async () => {
    const { it, small, great } = await setUp({ small: null, great: null });
    expect((await it.approve(small)).status).toBe(202);
    expect((await it.approve(great)).status).toBe(409);
    expect(await stateOf(it, great)).toBe('pending');
  });

  test('one waits for its plan while the other is approved: the sweep hands it back', async () => {
    const { it, small, great } = await setUp({ small: null });
    expect((await it.approve(small)).status).toBe(202);
    expect((await it.approve(great)).status).toBe(200);
    await it.addPlan([small], plan('1.2.0'));
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, small)).toMatchObject({
      ...{ state: 'pending', state_reason: 'other_version_approved' },
    });
    expect(await liveTokens(it)).toEqual([great]);
  });

  test('while one is being installed the other waits', async () => {
    const { it, small, great } = await setUp();
    await it.approve(small);
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ state: 'installing' }).where('id', '=', small).execute(),
    );
    expect((await it.approve(great)).status).toBe(409);
  });
});
