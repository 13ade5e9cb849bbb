import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DELTA_MAX_BYTES,
  DELTA_MAX_ITEMS,
  INVENTORY_MAX_PACKAGES,
  InventoryDelta,
  type InventoryPackage,
} from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { problem } from '../testing/scripted-server.ts';
import { UNKNOWN_MS } from './deltas.ts';
import { sendInventory } from './send-inventory.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
  // Nothing to be planned: for the ids of updates a report goes out once more.
  agent.driver.scanned = { ...agent.driver.scanned, updates: [] };
});
afterEach(() => agent.stop());

const DELTA = 'inventory/apt delta';
const sent = () => ({
  whole: agent.server.received('inventory/apt').length,
  deltas: agent.server.received(DELTA).length,
});
const packagesOf = (...versions: string[]): InventoryPackage[] =>
  versions.map((version, n) => ({ name: `p${n}`, version }));
const path = (name: string) => join(agent.folder, name);
/** What the server has and the report that is kept are the same. */
const isInStep = () => {
  const digest = createHash('sha256')
    .update(readFileSync(path('inventory-apt.json')))
    .digest('hex');
  return agent.server.digests.get('apt') === digest;
};

/** A round of a process that finds these packages. */
async function roundWith(packages: InventoryPackage[], runtime = agent.start()) {
  agent.driver.scanned = { ...agent.driver.scanned, packages };
  return runOnce(runtime);
}

test('a changed report goes out as what has changed, with all updates, and both sides name the same digest', async () => {
  const updates = [{ name: 'demo', current_version: '1.0', available_version: '2.0' }];
  agent.driver.scanned = { ...agent.driver.scanned, updates };
  const runtime = agent.start();
  await roundWith(packagesOf('1', '1', '1'), runtime);
  await roundWith(packagesOf('1', '2', '1'), runtime);
  await roundWith(packagesOf('1', '2'), runtime);
  await roundWith(packagesOf('1', '2'), runtime);
  expect(sent()).toEqual({ whole: 1, deltas: 2 });
  expect(isInStep()).toBe(true);
  expect(agent.server.received(DELTA)).toMatchObject([
    {
      ...{ put: [{ name: 'p1', version: '2' }], gone: [{ name: 'p1', version: '1' }] },
      ...{ package_count: 3, updates },
    },
    { put: [], gone: [{ name: 'p2', version: '1' }], package_count: 2, updates },
  ]);
});

test('the base waits on the disk until the server has the report, through a restart', async () => {
  await roundWith(packagesOf('1', '1'));
  const runtime = agent.start();
  agent.driver.scanned = { ...agent.driver.scanned, packages: packagesOf('2', '1') };
  await runtime.inventory.scan(null);
  expect(existsSync(path('inventory-apt-base.json'))).toBe(true);
  // A second change before the server has the first.
  await roundWith(packagesOf('2', '2'));
  expect(sent()).toEqual({ whole: 1, deltas: 1 });
  expect(agent.server.received(DELTA)).toMatchObject([{ put: packagesOf('2', '2') }]);
  expect(isInStep()).toBe(true);
  expect(existsSync(path('inventory-apt-base.json'))).toBe(false);
});

test.each([
  ['the ids of its updates by a delta of nothing', {}, { whole: 1, deltas: 1 }],
  [
    'its whole report where that is incomplete',
    { complete: false, reason: 'cut off' },
    { whole: 2, deltas: 0 },
  ],
])('an agent that has plans left when it restarts asks for %s', async (_, scanned, expected) => {
  const updates = [{ name: 'demo', current_version: '1.0', available_version: '2.0' }];
  agent.driver.scanned = { ...agent.driver.scanned, updates, ...scanned };
  const runtime = agent.start();
  await runtime.inventory.scan(null);
  await sendInventory(runtime, { askedFor: ['apt'] });
  await runOnce(agent.start());
  expect(sent()).toEqual(expected);
  // Nothing else comes of it: the update has its plan.
  expect(agent.server.received('plans')).toHaveLength(1);
  for (const delta of agent.server.received(DELTA)) {
    expect(delta).toMatchObject({ put: [], gone: [], updates: [] });
    expect(Check(InventoryDelta, delta)).toBe(true);
  }
});

test('a server that has lost the report meanwhile gets it whole', async () => {
  const updates = [{ name: 'demo', current_version: '1.0', available_version: '2.0' }];
  agent.driver.scanned = { ...agent.driver.scanned, updates };
  await agent.start().inventory.scan(null);
  const runtime = agent.start();
  await sendInventory(runtime, { askedFor: ['apt'] });
  agent.server.digests.clear();
  expect(await sendInventory(runtime, { wanted: ['apt'] })).toEqual({ sent: 1, failure: null });
  expect(sent()).toEqual({ whole: 2, deltas: 1 });
  expect(isInStep()).toBe(true);
});

test('a host whose report goes in parts sends what has changed as any other', async () => {
  const many = Array.from({ length: INVENTORY_MAX_PACKAGES + 1 }, (_, n) => ({
    name: `p${n}`,
    version: '1',
  }));
  const runtime = agent.start();
  agent.driver.scanned = { ...agent.driver.scanned, packages: many };
  await runtime.inventory.scan(null);
  const base = runtime.inventory.report('apt');
  expect(base?.bodies.length).toBeGreaterThan(1);
  agent.driver.scanned = { ...agent.driver.scanned, packages: [...many, { name: 'new', version: '1' }] };
  await runtime.inventory.scan(null);
  const delta = runtime.inventory.delta('apt', { isAskedFor: true });
  const next = runtime.inventory.report('apt');
  const named = { base_sha256: base?.sha256, report_sha256: next?.sha256, package_count: many.length + 1 };
  expect(JSON.parse(new TextDecoder().decode(delta ?? undefined))).toMatchObject(named);
});

test('the whole report follows at once where the server wants it: it was restored, or differs', async () => {
  await roundWith(packagesOf('1', '1'));
  agent.server.digests.set('apt', 'a'.repeat(64));
  expect(await roundWith(packagesOf('2', '1'))).toBeNull();
  expect(sent()).toEqual({ whole: 2, deltas: 1 });
  expect(isInStep()).toBe(true);
  await roundWith(packagesOf('3', '1'));
  expect(sent()).toEqual({ whole: 2, deltas: 2 });
});

test.each([
  ['the next check-in says that the server has the report', true, { whole: 1, deltas: 2 }],
  ['where it changes before that check-in, the whole follows', false, { whole: 2, deltas: 2 }],
])('an answer that was lost is not missed: %s', async (_, checksIn, expected) => {
  await roundWith(packagesOf('1', '1'));
  agent.server.override = (name) => {
    if (name !== DELTA) return null;
    const delta = agent.server.received(DELTA).at(-1);
    if (Check(InventoryDelta, delta)) agent.server.digests.set('apt', delta.report_sha256);
    return 'hang up';
  };
  expect(await roundWith(packagesOf('2', '1'))).toMatchObject({ kind: 'retryable' });
  agent.server.override = () => null;
  if (checksIn) await roundWith(packagesOf('2', '1'));
  expect(await roundWith(packagesOf('3', '1'))).toBeNull();
  expect(sent()).toEqual(expected);
  expect(isInStep()).toBe(true);
});

test('without an answer the report goes out whole the next time: something on the way may refuse the method', async () => {
  const runtime = agent.start();
  await roundWith(packagesOf('1', '1'), runtime);
  agent.server.override = (name) => (name === DELTA ? 'hang up' : null);
  expect(await roundWith(packagesOf('2', '1'), runtime)).toMatchObject({ kind: 'retryable' });
  expect(await runOnce(runtime)).toBeNull();
  expect(sent()).toEqual({ whole: 2, deltas: 1 });
  expect(isInStep()).toBe(true);
});

test.each(['unavailable', 'host_budget_spent'] as const)(
  'a server that is busy (%s) gets the delta again, not more work',
  async (code) => {
    const runtime = agent.start();
    await roundWith(packagesOf('1', '1'), runtime);
    agent.server.override = (name) => (name === DELTA ? problem(code, { 'retry-after': '60' }) : null);
    expect(await roundWith(packagesOf('2', '1'), runtime)).toMatchObject({ kind: 'retryable' });
    agent.server.override = () => null;
    expect(await runOnce(runtime)).toBeNull();
    expect(sent()).toEqual({ whole: 1, deltas: 2 });
  },
);

test.each(['not_found', 'method_not_allowed'] as const)(
  'a server of the last release (%s) is not asked again with each report, and is after two days',
  async (code) => {
    const runtime = agent.start();
    await roundWith(packagesOf('1', '1'), runtime);
    agent.server.override = (name) => (name === DELTA ? problem(code) : null);
    for (const version of ['2', '3', '4']) {
      expect(await roundWith(packagesOf(version, '1'), runtime)).toBeNull();
      expect(isInStep()).toBe(true);
    }
    expect(sent()).toEqual({ whole: 4, deltas: 1 });
    agent.server.override = () => null;
    agent.localMs += 2 * UNKNOWN_MS;
    expect(await roundWith(packagesOf('5', '1'), runtime)).toBeNull();
    expect(sent()).toEqual({ whole: 4, deltas: 2 });
  },
);

test('now and then a changed report goes out whole', async () => {
  agent.random = () => 0;
  const runtime = agent.start();
  await roundWith(packagesOf('1', '1'), runtime);
  await roundWith(packagesOf('2', '1'), runtime);
  expect(sent()).toEqual({ whole: 2, deltas: 0 });
});

test.each([
  ['after an incomplete one', { complete: false, reason: 'cut off' }, {}],
  ['that is incomplete', {}, { complete: false, reason: 'cut off' }],
  ['that names a package twice', {}, { packages: packagesOf('1').concat(packagesOf('1')) }],
])('a report %s goes out whole', async (_, first, second) => {
  const { scanned } = agent.driver;
  agent.driver.scanned = { ...scanned, packages: packagesOf('1', '1'), ...first };
  await runOnce(agent.start());
  agent.driver.scanned = { ...scanned, packages: packagesOf('2', '1'), ...second };
  await runOnce(agent.start());
  expect(sent()).toEqual({ whole: 2, deltas: 0 });
  expect(isInStep()).toBe(true);
});

test.each([
  ['more changes than a delta takes', packagesOf(...Array(DELTA_MAX_ITEMS + 1).fill('9'))],
  ['more bytes than a delta takes', [{ name: 'x', version: '1', origin: 'o'.repeat(DELTA_MAX_BYTES) }]],
])('with %s the report goes out whole', async (_, packages) => {
  const runtime = agent.start();
  await roundWith(packagesOf('1', '1'), runtime);
  for (const one of [packagesOf('2', '1'), packages]) {
    agent.driver.scanned = { ...agent.driver.scanned, packages: one };
    await runtime.inventory.scan(null);
    expect(runtime.inventory.delta('apt', { isAskedFor: true }) === null).toBe(one === packages);
  }
});

test('a scan between a report and the next check-in, and one during it, keeps the right base', async () => {
  const runtime = agent.start();
  const scan = async (packages: InventoryPackage[]) => {
    agent.driver.scanned = { ...agent.driver.scanned, packages };
    await runtime.inventory.scan(null);
    return runtime.inventory.digests().apt ?? '';
  };
  await roundWith(packagesOf('1', '1'), runtime);
  await scan(packagesOf('2', '1'));
  await sendInventory(runtime, { askedFor: ['apt'] });
  const named = runtime.inventory.digests().apt ?? '';
  await scan(packagesOf('3', '1'));
  // A check-in named the report before.
  runtime.inventory.acknowledged('apt', named);
  expect((await sendInventory(runtime, { askedFor: ['apt'] })).sent).toBe(1);
  expect(sent()).toEqual({ whole: 1, deltas: 2 });
  expect(isInStep()).toBe(true);
});

test('an agent that was killed between its base and its report goes on from the base', async () => {
  await roundWith(packagesOf('1', '1'));
  copyFileSync(path('inventory-apt.json'), path('inventory-apt-base.json'));
  await runOnce(agent.start());
  await roundWith(packagesOf('2', '1'));
  expect(sent()).toEqual({ whole: 1, deltas: 1 });
  expect(isInStep()).toBe(true);
});
