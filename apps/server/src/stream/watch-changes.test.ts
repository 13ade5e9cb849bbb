import { expect, onTestFinished, test } from 'vitest';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { type Plugin, readsWithPlugin } from '../testing/with-plugin.ts';
import type { Change } from './topic-rules.ts';
import { createChangeWatch } from './watch-changes.ts';

test.each(ENGINES)(
  'a row that is written while a poll reads is reported with its id alone, on $name',
  async (engine) => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const row = { agentId, n: 1, state: 'pending', expiresAtMs: platform.now() };
    const { updateId } = await insertTestUpdate(database, row);
    const write = () =>
      database.transact((tx) =>
        tx.updateTable('updates').set({ updated_at: platform.now() }).where('id', '=', updateId).execute(),
      );
    let reads = 0;
    let writesLeft = 0;
    const plugin: Plugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        reads++;
        // The sums of the recent rows are read, their ids are not yet.
        if (writesLeft > 0 && result.rows.some((sums) => 'spread' in sums)) {
          writesLeft--;
          platform.clock.advance(2_000);
          await write();
        }
        return result;
      },
    };
    const read = readsWithPlugin(database, plugin);
    const watch = createChangeWatch({ ...platform, database: { ...database, read } }, { lookEveryMs: 5 });
    onTestFinished(() => watch.stop());
    const told: Change[] = [];
    await watch.listen((changes) => told.push(...changes));
    writesLeft = 20;
    await expect.poll(() => writesLeft).toBe(0);
    const before = reads;
    await expect.poll(() => reads).toBeGreaterThan(before + 30);
    expect(new Set(told.map(({ topic, ids }) => `${topic} ${ids}`))).toEqual(
      new Set([`updates ${updateId}`]),
    );
  },
);

test.each(ENGINES)('rows are reported after the clock was set back, on $name', async (engine) => {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const { agentId } = await insertTestAgent(database, { n: 1 });
  const row = { agentId, n: 1, state: 'pending', expiresAtMs: platform.now() };
  const { updateId } = await insertTestUpdate(database, row);
  const watch = createChangeWatch(platform, { lookEveryMs: 5 });
  onTestFinished(() => watch.stop());
  const told: Change[] = [];
  await watch.listen((changes) => told.push(...changes));
  platform.clock.advance(-3_600_000);
  await expect.poll(() => told.some(({ topic }) => topic === 'updates')).toBe(true);
  told.length = 0;
  platform.clock.advance(1_000);
  await database.transact((tx) =>
    tx.updateTable('updates').set({ updated_at: platform.now() }).where('id', '=', updateId).execute(),
  );
  await expect
    .poll(() => told.filter(({ topic }) => topic === 'updates'))
    .toContainEqual({ topic: 'updates', ids: [updateId] });
});
