import { describe, expect, test } from 'vitest';
import { keepRetentionClock } from '../platform/retention/retention-clock.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { LISTENS } from '../testing/listens.ts';
import { findUpdate } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { createApprovalBackground } from './background.ts';
import { housekeepOnce } from './housekeeping.ts';
import { sweepOnce } from './sweep.ts';

const HOUR_MS = 3_600_000;
const YEARS_MS = 10 * 365 * 24 * HOUR_MS;

/** An update that was approved before its plan was known, which has come since. */
async function awaited(
  it: ApprovalsApp,
  given: Parameters<ApprovalsApp['addUpdate']>[0] = {},
): Promise<string> {
  const { name = 'openssl', version = '3.0.12-1', ecosystem = 'apt' } = given;
  const id = await it.addUpdate({ ...given, plan: null });
  expect((await it.approve(id, { not_before: '2026-11-25T00:00:00Z' })).status).toBe(202);
  await it.addPlan([id], [actionOf({ name, version, ecosystem })]);
  return id;
}

async function eventsOf({ database }: ApprovalsApp, type: string) {
  return database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
}

const approvalsOf = ({ database }: ApprovalsApp) =>
  database.read.selectFrom('approvals').selectAll().execute();
const commandsOf = ({ database }: ApprovalsApp, action: string) =>
  database.read.selectFrom('agent_commands').selectAll().where('action', '=', action).orderBy('id').execute();

describe.each(ENGINES)('the sweep (A8) on $name', (engine) => {
  test('mints when the plan is clear, in the name of the operator who asked and from the requested time', async () => {
    const it = await createApprovalsApp(engine);
    const id = await awaited(it);
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
    expect(await approvalsOf(it)).toMatchObject([{ approved_by: 'ada', override_by: null }]);
    expect(await commandsOf(it, 'install_update')).toMatchObject([
      { not_before: Date.parse('2026-11-25T00:00:00Z'), created_by: 'sweep' },
    ]);
    expect(await eventsOf(it, 'update_approved')).toMatchObject([{ actor: 'sweep' }]);
    await sweepOnce(it.deps);
    expect(await approvalsOf(it)).toHaveLength(1);
  });

  test.each([
    ['apt', 'vulnerable'],
    ['npm', 'vulnerable'],
    ['apt', 'unreachable'],
    ['npm', 'unreachable'],
    ['pypi', 'unreachable'],
    ['apt', 'uncovered'],
  ] as const)('%s, %s: goes back to an operator with the reason, not minted', async (ecosystem, what) => {
    const it = await createApprovalsApp(engine, { settings: { uncovered: 'warn' } });
    const version = ecosystem === 'apt' ? '3.0.12-1' : '3.0.12';
    const id = await awaited(it, { ecosystem, version });
    if (what === 'vulnerable')
      it.vulnerable({ ecosystem: ecosystem === 'apt' ? 'Debian:12' : 'npm', version });
    if (what === 'unreachable') it.osv.mode = 'down';
    if (what === 'uncovered') it.osv.covered.delete('Debian:12');
    await sweepOnce(it.deps);
    const reason = what === 'vulnerable' ? 'vulnerability: known_vulnerability' : `unchecked: ${what}`;
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending', state_reason: reason });
    expect(await approvalsOf(it)).toEqual([]);
    expect(await commandsOf(it, 'install_update')).toEqual([]);
    expect(await commandsOf(it, 'plan_update')).toMatchObject([{ status: 'cancelled' }]);
    expect(await eventsOf(it, 'approval_blocked')).toMatchObject([{ actor: 'sweep' }]);
    expect(it.platform.lines.some((line) => line.includes('approval_blocked'))).toBe(true);
  });

  test('A7 in block mode: too young returns to an operator, too', async () => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    const id = await awaited(it, { ecosystem: 'npm', version: '1.0.0' });
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({
      state: 'pending',
      state_reason: 'age: unknown_age',
    });
  });

  test('an unfinished judgement waits for the next sweep', async () => {
    const it = await createApprovalsApp(engine, { waitMs: 20 });
    const id = await awaited(it);
    it.osv.mode = 'hang';
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'awaiting_plan' });
  });

  test('24 h without a plan: back to pending, and the command for the plan is cancelled', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ plan: null });
    await it.approve(id);
    it.clock.advance(24 * HOUR_MS - 1);
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'awaiting_plan' });
    it.clock.advance(1);
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({
      state: 'pending',
      state_reason: 'no_plan',
    });
    expect(await commandsOf(it, 'plan_update')).toMatchObject([{ status: 'cancelled' }]);
  });

  test.each([true, false])(
    'of a clock that was ahead: back to pending once it is set back (with a plan: %s)',
    async (isPlanned) => {
      const it = await createApprovalsApp(engine);
      await keepRetentionClock(it.platform);
      const id = await it.addUpdate({ plan: null });
      it.clock.advance(YEARS_MS);
      await it.approve(id, { not_before: '2037-01-01T00:00:00Z' });
      await keepRetentionClock(it.platform);
      await sweepOnce(it.deps);
      it.clock.advance(-YEARS_MS);
      await keepRetentionClock(it.platform);
      if (isPlanned) await it.addPlan([id], [actionOf({ name: 'openssl', version: '3.0.12-1' })]);
      await sweepOnce(it.deps);
      const returned = { state: 'pending', state_reason: 'clock_set_back', not_before: null };
      expect(await findUpdate(it.database.read, id)).toMatchObject(returned);
      expect(await approvalsOf(it)).toEqual([]);
      expect(await commandsOf(it, 'plan_update')).toMatchObject([{ status: 'cancelled' }]);
    },
  );

  test('only an operator, with an override, passes what the sweep handed back', async () => {
    const it = await createApprovalsApp(engine);
    const id = await awaited(it);
    it.vulnerable();
    await sweepOnce(it.deps);
    const answer = await it.approve(id, { override_supply_chain: true, override_reason: 'I looked' });
    expect(answer.status).toBe(200);
  });

  test('the background work runs the sweep, continues after a failure, and stops', async () => {
    const it = await createApprovalsApp(engine);
    await awaited(it);
    const { loadedOnce, deps } = failingFirst(it);
    const background = createApprovalBackground(deps, { intervalMs: 1 });
    background.start();
    await loadedOnce;
    while ((await approvalsOf(it)).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await background.stop();
    expect(it.platform.lines.some((line) => line.startsWith('[ERROR] sweep of approvals failed'))).toBe(true);
  });
});

/** Dependencies whose worker throws at its first call. */
function failingFirst(it: ApprovalsApp) {
  const { promise: loadedOnce, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const worker: typeof it.deps.worker = {
    ...it.deps.worker,
    async ensureJudged(subjects, timeoutMs) {
      if (calls++ > 0) return it.deps.worker.ensureJudged(subjects, timeoutMs);
      resolve();
      throw new Error('first');
    },
  };
  return { loadedOnce, deps: { ...it.deps, worker } };
}

describe.each(ENGINES)('housekeeping of approvals on $name', (engine) => {
  test('an approval whose key is revoked returns its update to pending and is not signed again', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    await housekeepOnce(it.deps, LISTENS);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
    await housekeepOnce({ ...it.deps, keyRing: { ...it.deps.keyRing, isActive: () => false } }, LISTENS);
    expect(await findUpdate(it.database.read, id)).toMatchObject({
      state: 'pending',
      state_reason: 'signing_key_revoked',
      approval_id: null,
    });
    expect(await commandsOf(it, 'install_update')).toMatchObject([{ status: 'cancelled' }]);
  });

  test('an expired approval returns its update to pending, without a command', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    it.clock.advance(7 * 24 * HOUR_MS - 1);
    await housekeepOnce(it.deps, LISTENS);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
    it.clock.advance(1);
    await housekeepOnce(it.deps, LISTENS);
    expect(await findUpdate(it.database.read, id)).toMatchObject({
      state: 'pending',
      state_reason: 'approval_expired',
      approval_id: null,
    });
    expect(await approvalsOf(it)).toMatchObject([{ void_reason: 'approval_expired' }]);
    expect((await commandsOf(it, 'install_update')).every(({ status }) => status !== 'pending')).toBe(true);
    expect((await it.approve(id)).status).toBe(200);
  });

  test('an approval of a clock that was ahead returns its update to pending once the clock is set back', async () => {
    const it = await createApprovalsApp(engine);
    const look = async () => {
      await keepRetentionClock(it.platform);
      await housekeepOnce(it.deps, LISTENS);
      return (await findUpdate(it.database.read, id))?.state;
    };
    const id = await it.addUpdate();
    expect(await look()).toBe('pending');
    it.clock.advance(YEARS_MS);
    expect((await it.approve(id, { not_before: '2037-01-01T00:00:00Z' })).status).toBe(200);
    expect(await look()).toBe('approved');
    it.clock.advance(-YEARS_MS);
    // The clock was last seen where it is not believed.
    await housekeepOnce(it.deps, LISTENS);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
    expect(await look()).toBe('pending');
    const returned = { state_reason: 'clock_set_back', approval_id: null, not_before: null };
    expect(await findUpdate(it.database.read, id)).toMatchObject(returned);
    expect(await approvalsOf(it)).toMatchObject([{ void_reason: 'clock_set_back' }]);
    expect(await commandsOf(it, 'install_update')).toMatchObject([{ status: 'cancelled' }]);
    expect((await it.approve(id)).status).toBe(200);
    expect(await look()).toBe('approved');
  });

  test.each([
    ['by an hour', -HOUR_MS],
    ['by years, which may be the wrong reading', -YEARS_MS],
  ])('an approval stays when the clock goes back %s', async (_, ms) => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await keepRetentionClock(it.platform);
    await it.approve(id);
    it.clock.advance(ms);
    for (let i = 0; i < 2; i++) {
      await housekeepOnce(it.deps, LISTENS);
      expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
      await keepRetentionClock(it.platform);
    }
  });

  test.each(['approval_expired', 'signing_key_revoked'])(
    'during an installation %s voids the token, and the host reports the outcome',
    async (reason) => {
      const it = await createApprovalsApp(engine);
      const id = await it.addUpdate();
      await it.approve(id);
      const move = { updateId: id, from: ['approved'], to: 'installing', actor: 'agent' } as const;
      await it.database.transact((tx) => transitionUpdate(tx, it.platform, move));
      if (reason === 'approval_expired') it.clock.advance(7 * 24 * HOUR_MS);
      const isActive = () => reason === 'approval_expired';
      await housekeepOnce({ ...it.deps, keyRing: { ...it.deps.keyRing, isActive } }, LISTENS);
      expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'installing' });
      expect(await approvalsOf(it)).toMatchObject([{ void_reason: reason }]);
    },
  );
});
