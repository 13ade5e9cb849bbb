import { createHash } from 'node:crypto';
import {
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES,
  INVENTORY_MAX_UPDATES,
  INVENTORY_PARTS_MAX_PACKAGES,
  InventoryReport,
} from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { encodeReport } from './split-report.ts';

function reportOf({ packages = 0, updates = 0 }): InventoryReport {
  const nameOf = (n: number) => `p${n}`.padEnd(100, 'x');
  return {
    scanned_at: '2026-11-21T08:59:00Z',
    complete: true,
    packages: Array.from({ length: packages }, (_, n) => ({ name: nameOf(n), version: '1' })),
    updates: Array.from({ length: updates }, (_, n) => ({
      ...{ name: nameOf(n), current_version: '1', available_version: '2' },
    })),
  };
}

function partsOf(report: InventoryReport): InventoryReport[] | undefined {
  return encodeReport(report)?.bodies.map((body) => {
    const part: unknown = JSON.parse(new TextDecoder().decode(body));
    if (!Check(InventoryReport, part)) throw new Error('a part is no report');
    return part;
  });
}

function sha256(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex');
}

test('what fits one request is one body, called by its own digest', () => {
  const encoded = encodeReport(
    reportOf({ packages: INVENTORY_MAX_PACKAGES, updates: INVENTORY_MAX_UPDATES }),
  );
  const [body, ...more] = encoded?.bodies ?? [];
  expect(more).toEqual([]);
  expect(encoded?.sha256).toBe(sha256(body ?? ''));
});

test.each([
  ['packages', { packages: INVENTORY_MAX_PACKAGES + 1 }, ''],
  ['updates', { packages: 3, updates: INVENTORY_MAX_UPDATES + 1 }, ''],
  ['bytes', { packages: 15_000, updates: 4_000 }, 'o'.repeat(500)],
])(
  'more %s go in parts, each a report that one request takes, and all of them are the whole',
  (_, size, origin) => {
    const whole = reportOf(size);
    for (const item of whole.packages) item.origin = origin;
    const parts = partsOf(whole) ?? [];
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flatMap(({ packages }) => packages)).toEqual(whole.packages);
    expect(parts.flatMap(({ updates }) => updates)).toEqual(whole.updates);
    for (const part of parts) {
      expect(part).toMatchObject({ scanned_at: whole.scanned_at, complete: true });
      expect(JSON.stringify(part).length).toBeLessThanOrEqual(INVENTORY_MAX_BYTES);
    }
    const encoded = encodeReport(whole);
    expect(encoded?.sha256).toBe(sha256((encoded?.bodies ?? []).map(sha256).join('\n')));
  },
);

test('what is larger than all parts together is no report', () => {
  expect(encodeReport(reportOf({ packages: INVENTORY_PARTS_MAX_PACKAGES + 1 }))).toBeNull();
});
