import { INVENTORY_PARTS_MAX_PACKAGES } from '@tidegate/protocol/agent-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

test('a scan that finds the same keeps the bytes of the report, and so its digest', async () => {
  const { inventory } = agent.start();
  await inventory.scan(null);
  const { apt } = inventory.digests();
  await inventory.scan(null);
  expect(inventory.digests()).toEqual({ apt });
  expect(inventory.updates('apt')).toEqual(agent.driver.scanned.updates);
  agent.driver.scanned = { ...agent.driver.scanned, updates: [] };
  await inventory.scan(null);
  expect(inventory.digests().apt).not.toBe(apt);
});

test('an inventory that the server would not take is a problem, not a report', async () => {
  const packages = Array.from({ length: INVENTORY_PARTS_MAX_PACKAGES + 1 }, () => ({
    name: 'x',
    version: 'y',
  }));
  agent.driver.scanned = { ...agent.driver.scanned, packages };
  const { inventory } = agent.start();
  expect((await inventory.scan(null)).problems).toEqual([expect.stringContaining('larger than')]);
  expect(inventory.report('apt')).toBeNull();
});

test('a package whose name hides characters is left out: the server would refuse all of the report', async () => {
  const hidden = { name: 'a\u202etxt.exe', version: '1' };
  const packages = [...agent.driver.scanned.packages, hidden, { name: 'x', version: '1\u200b' }];
  const updates = [{ name: hidden.name, current_version: '1', available_version: '2' }];
  agent.driver.scanned = { ...agent.driver.scanned, packages, updates };
  const { inventory } = agent.start();
  expect((await inventory.scan(null)).problems).toEqual([]);
  const text =
    inventory
      .report('apt')
      ?.bodies.map((body) => Buffer.from(body).toString())
      .join('') ?? '';
  expect(text).not.toMatch(/[\u202e\u200b]/);
  expect(inventory.updates('apt')).toEqual([]);
  expect(agent.logged.join('')).toContain('left=3');
});

test('old package sources are in the log, and the scan is still complete', async () => {
  const staleness = 'apt-get update last succeeded 9 days ago';
  agent.driver.examineLists = async () => ({ ageMs: 777_600_999, staleness });
  const { inventory } = agent.start();
  expect(inventory.listAges()).toBeNull();
  expect(await inventory.scan(null)).toEqual({ scanned: ['apt'], problems: [] });
  expect(agent.logged.join('')).toContain('9 days ago');
  expect(inventory.listAges()).toEqual({ apt: 777_600 });
  agent.driver.examineLists = async () => ({ ageMs: null, staleness: null });
  await inventory.scan(null);
  expect(inventory.listAges()).toEqual({});
});

test('only ecosystems that were asked for and are on the host are scanned', async () => {
  const { inventory } = agent.start();
  expect((await inventory.scan(['npm'])).scanned).toEqual([]);
  agent.driver.present = async () => false;
  expect((await inventory.scan(null)).scanned).toEqual([]);
  expect(inventory.digests()).toEqual({});
});

test('what was there once is scanned on, so that the last of it can go from the server', async () => {
  const { inventory } = agent.start();
  await inventory.scan(null);
  agent.driver.present = async () => false;
  agent.driver.scanned = { ...agent.driver.scanned, packages: [], updates: [] };
  expect((await inventory.scan(null)).scanned).toEqual(['apt']);
  expect(inventory.updates('apt')).toEqual([]);
});
