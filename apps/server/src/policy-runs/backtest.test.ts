import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { describe, expect, test } from 'vitest';
import { insertOperator } from '../operators/store.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { STANDING, STANDING_TERMS } from '../testing/standing.ts';
import { backtestPolicy } from './backtest-policy.ts';
import { createRefused } from './refused.ts';
import { runPoliciesOnce } from './run-policies.ts';

const URL = '/api/v1/policies';
const ADA = '01900000-0000-7000-a000-000000000001';
const DAY_MS = 86_400_000;
const NONE = { approved: 0, taken_back: 0, not_approved: 0 };

describe.each(ENGINES)('the backtest of a policy on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    await it.database.transact((tx) =>
      insertOperator(tx, {
        ...{ id: ADA, username: 'ada', password_hash: 'x', role: 'approver', groups: null },
        ...{ created_at: 1, disabled_at: null },
      }),
    );
    const backtest = async (terms: object = {}, scope: object = { kind: 'all' }): Promise<PolicyBacktest> => {
      const draft = { scope, terms: { ...STANDING_TERMS, ...terms }, windows: [] };
      const { status, body } = await it.call('POST', `${URL}/backtest`, draft);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const named = ({ updates }: PolicyBacktest) =>
      Object.fromEntries(updates.map(({ name, reason, fate }) => [name, [reason, fate]]));
    return { ...it, backtest, named };
  }

  test('says what it would have approved, and what became of it', async () => {
    const it = await scene();
    it.vulnerable();
    const [bad, good, back] = [
      await it.addUpdate(),
      await it.addUpdate({ name: 'curl' }),
      await it.addUpdate({ name: 'vim' }),
    ];
    await it.addUpdate({ name: 'zsh' });
    expect((await it.approve(bad)).status).toBe(409);
    expect((await it.approve(good)).status).toBe(200);
    expect((await it.approve(back)).status).toBe(200);
    expect((await it.call('POST', `/api/v1/updates/${back}/reopen`)).status).toBe(200);
    const told = await it.backtest();
    // Nobody asked for zsh, so nothing is known of it.
    expect(it.named(told)).toEqual({
      vim: [null, 'taken_back'],
      curl: [null, 'approved'],
      openssl: ['known_vulnerability', 'not_approved'],
    });
    expect(told).toMatchObject({
      ...{ decisions: 3, unreadable: 0, cut: false },
      approves: { ...NONE, approved: 1, taken_back: 1 },
      leaves: { ...NONE, not_approved: 1 },
      reasons: [{ reason: 'known_vulnerability', count: 1 }],
    });
    expect(told.updates[0]).toMatchObject({ name: 'vim' });
  });

  test('leaves what a person passed by an override (A4), and what its terms do not name', async () => {
    const it = await scene();
    it.vulnerable();
    const [bad, good] = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    const override = { override_supply_chain: true, override_reason: 'The shop is down.' };
    expect((await it.approve(bad, override)).status).toBe(200);
    expect((await it.approve(good)).status).toBe(200);
    const told = await it.backtest({ except_packages: ['curl'] });
    expect(it.named(told)).toEqual({
      openssl: ['known_vulnerability', 'approved'],
      curl: ['excepted', 'approved'],
    });
    expect(told.leaves).toEqual({ ...NONE, approved: 2 });
  });

  test('judges by the facts of then: what became known later changes nothing', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    expect((await it.approve(id)).status).toBe(200);
    it.vulnerable();
    expect(it.named(await it.backtest())).toEqual({ openssl: [null, 'approved'] });
  });

  test('goes by the age that a version had then', async () => {
    const it = await scene();
    const [young, old, unseen] = [
      await it.addUpdate({ name: 'curl' }),
      await it.addUpdate({ name: 'vim' }),
      await it.addUpdate({ name: 'zsh' }),
    ];
    const see = (name: string) =>
      it.database.transact((tx) =>
        recordFirstSeen(tx, it.platform, {
          ...{ agentId: it.agentId, ecosystem: 'apt', packages: [] },
          actions: [actionOf({ name, version: '3.0.12-1' })],
        }),
      );
    await see('vim');
    it.clock.advance(2 * DAY_MS);
    await see('curl');
    for (const id of [young, old, unseen]) expect((await it.approve(id)).status).toBe(200);
    it.clock.advance(5 * DAY_MS);
    expect(it.named(await it.backtest({ min_age_hours: 24 }))).toEqual({
      curl: ['policy_age', 'approved'],
      vim: [null, 'approved'],
      zsh: ['policy_age_unknown', 'approved'],
    });
  });

  test('an origin that is not known of the version that was decided meets no condition', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    expect((await it.approve(id)).status).toBe(200);
    const origins = { origins: ['Debian:*'] };
    const setRow = (change: object) =>
      it.database.transact((tx) => tx.updateTable('updates').set(change).where('id', '=', id).execute());
    await setRow({ origin: 'Debian:bookworm' });
    expect(it.named(await it.backtest(origins))).toEqual({ curl: [null, 'approved'] });
    await setRow({ available_version: '4.0' });
    expect(it.named(await it.backtest(origins))).toEqual({ curl: ['origin', 'approved'] });
  });

  test('reaches the hosts of the scope, 30 days back', async () => {
    const it = await scene();
    const { agentId: web } = await insertTestAgent(it.database, { n: 2, group: 'web' });
    const before = await it.addUpdate({ name: 'old', agentId: web });
    expect((await it.approve(before)).status).toBe(200);
    it.clock.advance(31 * DAY_MS);
    const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim', agentId: web })];
    for (const id of ids) expect((await it.approve(id)).status).toBe(200);
    expect(it.named(await it.backtest())).toEqual({ curl: [null, 'approved'], vim: [null, 'approved'] });
    const some = { kind: 'some', groups: ['web'], hosts: [] };
    expect(it.named(await it.backtest({}, some))).toEqual({ vim: [null, 'approved'] });
  });

  test('concludes nothing from a record that was changed, and says so', async () => {
    const it = await scene();
    expect((await it.approve(await it.addUpdate({ name: 'curl' }))).status).toBe(200);
    const { document } = await it.database.read
      .selectFrom('decisions')
      .select('document')
      .executeTakeFirstOrThrow();
    const put = (text: string) =>
      it.database.transact((tx) => tx.updateTable('decisions').set({ document: text }).execute());
    await put(document.replaceAll('"curl"', '"vim"'));
    expect(await it.backtest()).toMatchObject({ decisions: 0, unreadable: 1, updates: [], approves: NONE });
    await put(document);
    expect(await it.backtest()).toMatchObject({ decisions: 1, unreadable: 0, approves: { approved: 1 } });
  });

  test('judges the newest decisions where there are more than it judges', async () => {
    const it = await scene();
    for (const name of ['curl', 'vim', 'zsh']) {
      expect((await it.approve(await it.addUpdate({ name }))).status).toBe(200);
      it.clock.advance(DAY_MS);
    }
    const told = await backtestPolicy(it.deps, { scope: { kind: 'all' }, terms: STANDING_TERMS }, 2);
    expect(Object.keys(it.named(told)).toSorted()).toEqual(['vim', 'zsh']);
    expect(told).toMatchObject({ decisions: 2, cut: true });
    expect(told.since).toBe(told.updates.map((one) => one.decided_at).toSorted()[0]);
    const all = await backtestPolicy(it.deps, { scope: { kind: 'all' }, terms: STANDING_TERMS }, 3);
    expect(all).toMatchObject({ decisions: 3, cut: false });
  });

  test('of a policy in force agrees with what it did', async () => {
    const it = await scene();
    it.vulnerable();
    for (const name of ['openssl', 'curl', 'linux-image-1']) await it.addUpdate({ name });
    const terms = { ...STANDING_TERMS, except_packages: ['linux-*'] };
    const { body } = await it.call('POST', URL, { ...STANDING, terms });
    await runPoliciesOnce(it.deps, createRefused());
    const { status, body: told } = await it.call('GET', `${URL}/${body.id}/backtest`);
    expect(status).toBe(200);
    expect(it.named(told)).toEqual({
      curl: [null, 'approved'],
      openssl: ['known_vulnerability', 'not_approved'],
    });
  });
});
