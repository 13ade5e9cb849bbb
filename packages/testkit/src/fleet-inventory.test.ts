import { InventoryReport } from '@tidegate/protocol/agent-api';
import { planFaults } from '@tidegate/protocol/plan';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { hostInventory, inventoryReport, SYSTEMS } from './fleet-inventory.ts';

const NONE: ReadonlySet<string> = new Set();
const shape = { packages: 300, updates: 8 };

test.each(SYSTEMS.map((system) => [system.os.id, system] as const))(
  'an inventory of %s is one that the wire takes',
  (_id, system) => {
    const inventory = hostInventory(5, { ...shape, system, updated: NONE });
    const report = inventoryReport(inventory, '2026-01-01T00:00:00Z');
    expect(Value.Errors(InventoryReport, report)).toEqual([]);
    expect(report.updates).toHaveLength(8);
    for (const { name, current_version, available_version, plan } of report.updates) {
      expect(report.packages).toContainEqual(expect.objectContaining({ name, version: current_version }));
      expect(available_version).not.toBe(current_version);
      expect(plan && planFaults(plan)).toEqual([]);
    }
  },
);

test('a host has the same inventory each time, two hosts share some of it, and an updated package is not offered', () => {
  const [system] = SYSTEMS;
  const first = hostInventory(1, { ...shape, system, updated: NONE });
  expect(hostInventory(1, { ...shape, system, updated: NONE })).toEqual(first);
  const other = new Set(
    hostInventory(2, { ...shape, system, updated: NONE }).packages.map(({ name }) => name),
  );
  const shared = first.packages.filter(({ name }) => other.has(name));
  expect(shared.length).toBeGreaterThan(20);
  expect(shared.length).toBeLessThan(300);
  const name = first.updates[0]?.name ?? '';
  const after = hostInventory(1, { ...shape, system, updated: new Set([name]) });
  expect(after.updates).toEqual(first.updates.slice(1));
  expect(after.packages).toContainEqual(
    expect.objectContaining({ name, version: first.updates[0]?.available_version }),
  );
});

test('no host has a package twice', () => {
  const [system] = SYSTEMS;
  for (let index = 0; index < 500; index++) {
    const { packages } = hostInventory(index, { packages: 500, updates: 0, system, updated: NONE });
    expect(new Set(packages.map(({ name }) => name)).size).toBe(500);
  }
});
