import type { Ring } from '@tidegate/protocol/rings';
import { describe, expect, test } from 'vitest';
import { housekeepOnce } from '../approvals/housekeeping.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { ENGINES } from '../testing/engines.ts';
import { LISTENS } from '../testing/listens.ts';
import { CANARY_THEN_REST } from '../testing/rollout-rings.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';

/** From two to four in the night; who misses it has until ten. */
const NIGHTLY = {
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-11-01', start: '02:00', zone: 'UTC', duration_minutes: 120 },
  catch_up_hours: 6,
};

describe.each(ENGINES)('windows whose hosts are caught up on $name', (engine) => {
  async function scene(windows: object[] = [NIGHTLY], rings: readonly Ring[] = []) {
    const it = await createRolloutScene(engine);
    const at = async (time: string) => {
      it.clock.advance(Date.parse(time) - it.platform.now());
      await housekeepOnce(it.deps, LISTENS);
      await sweepOnce(it.deps);
      await it.run();
    };
    const publish = () => it.publish(rings, { windows, ...(rings.length === 0 && { rings: undefined }) });
    const ends = async () => {
      const rows = await it.database.read.selectFrom('approvals').selectAll().orderBy('token_id').execute();
      return rows.map(({ expires_at }) => new Date(expires_at).toISOString());
    };
    return { ...it, at, publish, ends };
  }

  test('a host that was away gets until the end of the catch-up, one that was there does not', async () => {
    const it = await scene();
    const [away, there] = [await it.host(), await it.host()];
    const { id } = await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.install(there);
    const later = await it.offerTo(there.agentId, { name: 'curl' });
    await it.at('2026-11-25T04:30:00Z');
    expect(await it.stateOf(away)).toBe('approved');
    // What came to the other host meanwhile waits for the next window.
    expect(await it.stateOf({ updateId: later })).toBe('pending');
    expect((await it.ends()).at(-1)).toBe('2026-11-25T09:55:00.000Z');
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body).toMatchObject({
      open_window: null,
      missed: {
        window: { opens_at: '2026-11-25T02:00:00.000Z', closes_at: '2026-11-25T04:00:00.000Z' },
        ...{
          catch_up_until: '2026-11-25T09:55:00.000Z',
          hosts: 1,
          hosts_shown: [{ agent_id: away.agentId }],
        },
      },
    });
    await it.install(away);
    expect(await it.stateOf(away)).toBe('installed');
  });

  test('nothing begins after its end, and the next window asks again', async () => {
    const it = await scene();
    const away = await it.host();
    const { id } = await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.at('2026-11-25T04:00:00Z');
    await it.at('2026-11-25T09:55:00Z');
    expect(await it.visit(away)).not.toContain('install_update');
    expect(await it.stateOf(away)).toBe('pending');
    // It is still the host that missed the last window.
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body.missed).toMatchObject({ hosts: 1, catch_up_until: null });
    await it.at('2026-11-26T02:00:00Z');
    expect(await it.stateOf(away)).toBe('approved');
    expect((await it.ends()).map((one) => one.slice(5, 16))).toEqual([
      '11-25T03:55',
      '11-25T09:55',
      '11-26T03:55',
    ]);
  });

  test('without the member, hosts wait for the next window', async () => {
    const { catch_up_hours: _, ...silent } = NIGHTLY;
    const it = await scene([silent]);
    const away = await it.host();
    const { id } = await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.at('2026-11-25T04:30:00Z');
    expect(await it.stateOf(away)).toBe('pending');
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body.missed).toMatchObject({ hosts: 1, catch_up_until: null });
  });

  test('a host that took it and says nothing is not caught up', async () => {
    const it = await scene();
    const host = await it.host();
    const { id } = await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.visit(host);
    const later = await it.offerTo(host.agentId, { name: 'curl' });
    await it.at('2026-11-25T04:30:00Z');
    expect(await it.stateOf({ updateId: later })).toBe('pending');
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body).not.toHaveProperty('missed');
  });

  test('a host that failed in the window is not tried again after it', async () => {
    const it = await scene();
    const host = await it.host();
    await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.visit(host);
    await it.report(host, 'failed');
    const later = await it.offerTo(host.agentId, { name: 'curl' });
    await it.at('2026-11-25T04:30:00Z');
    expect(await it.stateOf({ updateId: later })).toBe('pending');
  });

  test('what has no plan yet at the end of the window is minted until the end of the catch-up', async () => {
    const it = await scene();
    const away = await it.host(undefined, { offers: false });
    const updateId = await it.addUpdate({ agentId: away.agentId, name: 'vim', plan: null });
    await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    expect(await it.stateOf({ updateId })).toBe('awaiting_plan');
    await it.at('2026-11-25T04:30:00Z');
    expect(await it.stateOf({ updateId })).toBe('awaiting_plan');
    await it.planFor(updateId, 'vim');
    await it.at('2026-11-25T09:00:00Z');
    expect(await it.ends()).toEqual(['2026-11-25T09:55:00.000Z']);
  });

  test('in rings, a host of a ring that was entered is caught up, and no rollout begins', async () => {
    const it = await scene([NIGHTLY], CANARY_THEN_REST);
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish();
    await it.at('2026-11-25T02:00:00Z');
    await it.at('2026-11-25T02:10:00Z');
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
    await it.at('2026-11-25T04:30:00Z');
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
    const news = await it.offerTo(canary.agentId, { name: 'curl' });
    await it.act('cancel');
    await it.at('2026-11-25T05:00:00Z');
    await it.at('2026-11-25T05:10:00Z');
    expect(await it.stateOf({ updateId: news })).toBe('pending');
    expect(await it.rollouts()).toHaveLength(1);
    await it.at('2026-11-26T02:00:00Z');
    expect(await it.rollouts()).toHaveLength(2);
  });
});
