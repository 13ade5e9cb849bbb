import {
  DELTA_MAX_ITEMS,
  type InventoryDelta,
  type InventoryPackage,
  type InventoryReport,
} from './agent-api.ts';
import { canonicalJson } from './canonical-json.ts';

/** A report and the digest that names it. */
export interface NamedReport {
  readonly sha256: string;
  readonly content: InventoryReport;
}

/**
 * What leads from one report to the next. Null where only the whole report says it: one of them is incomplete, names
 * a package twice, or the change has more items than a delta may. The caller limits the bytes (`DELTA_MAX_BYTES`).
 */
export function deltaBetween(base: NamedReport, next: NamedReport): InventoryDelta | null {
  const { scanned_at, complete, packages, updates, condition } = next.content;
  if (!complete || !base.content.complete) return null;
  const before = byKey(base.content.packages);
  const after = byKey(packages);
  if (before.size !== base.content.packages.length || after.size !== packages.length) return null;
  const put = packages.filter((item) => !isSame(before.get(keyOf(item)), item));
  const gone = base.content.packages.filter((item) => !after.has(keyOf(item)));
  if (Math.max(put.length, gone.length, updates.length) > DELTA_MAX_ITEMS) return null;
  return {
    base_sha256: base.sha256,
    report_sha256: next.sha256,
    scanned_at,
    package_count: packages.length,
    put,
    gone: gone.map(({ name, version, arch }) => ({ name, version, ...(arch !== undefined && { arch }) })),
    updates,
    ...(condition && { condition }),
  };
}

/** What asks a server that has this complete report for the ids of its updates: a delta of nothing. */
export function sameReport({ sha256, content: { scanned_at, packages } }: NamedReport): InventoryDelta {
  const named = { base_sha256: sha256, report_sha256: sha256, scanned_at, package_count: packages.length };
  return { ...named, put: [], gone: [], updates: [] };
}

function byKey(packages: readonly InventoryPackage[]): Map<string, InventoryPackage> {
  return new Map(packages.map((item) => [keyOf(item), item]));
}

/** What the server tells packages apart by. */
function keyOf({ name, version, arch = '' }: InventoryPackage): string {
  return `${name}\n${arch}\n${version}`;
}

function isSame(before: InventoryPackage | undefined, item: InventoryPackage): boolean {
  return before !== undefined && canonicalJson(before) === canonicalJson(item);
}
