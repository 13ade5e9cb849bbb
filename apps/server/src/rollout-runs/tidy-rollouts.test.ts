import { describe, expect, test } from 'vitest';
import { ROLLOUT_KEPT_MS, tidyRollouts } from '../rollouts/tidy-rollouts.ts';
import { ENGINES } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { CANARY_THEN_REST } from '../testing/rollout-rings.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';

describe.each(ENGINES)('old rollouts on $name', (engine) => {
  async function scene() {
    const it = await createRolloutScene(engine);
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    const tidy = () => tidyRollouts(it.platform).run(() => false);
    const counts = async () =>
      Promise.all(
        (['rollouts', 'rollout_hosts', 'rollout_packages', 'rollout_proofs', 'decisions'] as const).map(
          async (table) => (await it.database.read.selectFrom(table).selectAll().execute()).length,
        ),
      );
    return { ...it, canary, rest, tidy, counts };
  }

  test('are removed 400 days after their end, with their hosts; decisions and proofs stay', async () => {
    const it = await scene();
    await it.install(it.canary);
    await it.run();
    await it.install(it.rest);
    await it.run();
    expect((await it.rollout()).state).toBe('finished');
    const [, , , proofs, decisions] = await it.counts();
    it.clock.advance(ROLLOUT_KEPT_MS);
    expect(await it.tidy()).toBe(0);
    await jumpAhead(it.platform, ROLLOUT_KEPT_MS);
    expect(await it.tidy()).toBe(0);
    await believeClock(it.platform);
    expect(await it.tidy()).toBe(1);
    expect(await it.counts()).toEqual([0, 0, 0, proofs, decisions]);
    expect(proofs).toBeGreaterThan(0);
  });

  test('stay while they run, stand still, or have something to withdraw', async () => {
    const it = await scene();
    it.clock.advance(2 * ROLLOUT_KEPT_MS);
    expect(await it.tidy()).toBe(0);
    await it.database.transact((tx) =>
      tx.updateTable('rollouts').set({ state: 'cancelled', withdrawn: 0, ended_at: 1 }).execute(),
    );
    expect(await it.tidy()).toBe(0);
    await it.database.transact((tx) => tx.updateTable('rollouts').set({ withdrawn: 1 }).execute());
    expect(await it.tidy()).toBe(1);
    expect((await it.counts()).slice(0, 3)).toEqual([0, 0, 0]);
  });

  test('a server that stops breaks off, and the next run goes on', async () => {
    const it = await scene();
    await it.database.transact((tx) =>
      tx.updateTable('rollouts').set({ state: 'finished', ended_at: 1 }).execute(),
    );
    it.clock.advance(2 * ROLLOUT_KEPT_MS);
    expect(await tidyRollouts(it.platform).run(() => true)).toBe(0);
    expect((await it.counts())[0]).toBe(1);
    expect(await it.tidy()).toBe(1);
  });
});
