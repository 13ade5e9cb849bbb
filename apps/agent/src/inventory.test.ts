import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgent, type TestAgent } from './testing/agent-runtime.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

const updateOf = (index: number) => ({ name: `p${index}`, current_version: '1', available_version: '2' });

test('updates are planned in batches, each tried once, until all have a plan', async () => {
  const { inventory } = agent.start();
  agent.driver.scanned = {
    ...agent.driver.scanned,
    updates: Array.from({ length: 45 }, (_, index) => updateOf(index)),
  };
  await inventory.scan(null);
  const digests = [inventory.digests().apt];
  for (const left of [true, true, false]) {
    await inventory.planMore();
    expect(inventory.hasUnplanned()).toBe(left);
    digests.push(inventory.digests().apt);
  }
  expect(new Set(digests).size).toBe(4);
  await inventory.planMore();
  expect(inventory.digests().apt).toBe(digests.at(-1));
});

test('plans survive a scan that finds the same, and are made anew once they are forgotten', async () => {
  const { inventory } = agent.start();
  await inventory.scan(null);
  await inventory.planMore();
  const planned = inventory.digests().apt;
  await inventory.scan(null);
  expect([inventory.digests().apt, inventory.hasUnplanned()]).toEqual([planned, false]);
  inventory.forgetPlans();
  await inventory.scan(null);
  expect(inventory.hasUnplanned()).toBe(true);
});

test('an update that cannot be planned is reported without a plan and not tried again', async () => {
  agent.driver.plan = async () => ({ ok: false, reason: 'held back' });
  const { inventory } = agent.start();
  await inventory.scan(null);
  await inventory.planMore();
  expect(inventory.hasUnplanned()).toBe(false);
  expect(agent.logged.join('')).toContain('reason="held back"');
});

test('an inventory that the server would not take is a problem, not a report', async () => {
  const packages = Array.from({ length: 20_000 }, () => ({
    name: 'x'.repeat(214),
    version: 'y'.repeat(256),
  }));
  agent.driver.scanned = { ...agent.driver.scanned, packages };
  const { inventory } = agent.start();
  expect((await inventory.scan(null)).problems).toEqual([expect.stringContaining('larger than')]);
  expect(inventory.body('apt')).toBeNull();
});

test('only ecosystems that were asked for and are on the host are scanned', async () => {
  const { inventory } = agent.start();
  expect((await inventory.scan(['npm'])).scanned).toEqual([]);
  agent.driver.present = async () => false;
  expect((await inventory.scan(null)).scanned).toEqual([]);
  expect(inventory.digests()).toEqual({});
});
