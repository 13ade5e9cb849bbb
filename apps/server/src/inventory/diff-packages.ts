import type { InventoryDelta, InventoryPackage } from '@tidegate/protocol/agent-api';
import type { PackageRecord } from '../installed/store.ts';

export interface PackageDiff {
  /** New, or with changed facts. */
  put: PackageRecord[];
  gone: PackageRecord[];
}

/** Takes the stored packages, then the reported ones, each in any number of pieces. */
export interface PackageDiffing {
  addStored(records: readonly PackageRecord[]): void;
  addReported(packages: readonly InventoryPackage[]): void;
  result(): PackageDiff;
}

/** The writes that make the stored packages those of the report. A package named twice counts once. */
export function createPackageDiff(): PackageDiffing {
  const left = new Map<string, PackageRecord>();
  const seen = new Set<string>();
  const put: PackageRecord[] = [];
  return {
    addStored(records) {
      for (const record of records) left.set(keyOf(record), record);
    },
    addReported(packages) {
      for (const item of packages) {
        const record = recordOf(item);
        const key = keyOf(record);
        if (seen.has(key)) continue;
        seen.add(key);
        const known = left.get(key);
        left.delete(key);
        if (!known || !isSame(known, record)) put.push(record);
      }
    },
    result: () => ({ put, gone: [...left.values()] }),
  };
}

/**
 * The writes of a delta, by the stored packages of its names, and how many packages there are more afterwards. Null if a
 * package to be removed is not stored.
 */
export function diffDelta(
  stored: readonly PackageRecord[],
  { put, gone }: Pick<InventoryDelta, 'put' | 'gone'>,
): (PackageDiff & { added: number }) | null {
  const left = new Map(stored.map((record) => [keyOf(record), record]));
  const removed: PackageRecord[] = [];
  for (const item of gone) {
    const key = keyOf(recordOf(item));
    const record = left.get(key);
    if (!record) return null;
    left.delete(key);
    removed.push(record);
  }
  const seen = new Set<string>();
  const written: PackageRecord[] = [];
  let added = -removed.length;
  for (const record of put.map(recordOf)) {
    const key = keyOf(record);
    if (seen.has(key)) continue;
    seen.add(key);
    const known = left.get(key);
    if (!known) added += 1;
    if (!known || !isSame(known, record)) written.push(record);
  }
  return { put: written, gone: removed, added };
}

function recordOf(item: InventoryPackage): PackageRecord {
  return {
    name: item.name,
    arch: item.arch ?? '',
    version: item.version,
    source_name: item.source_name ?? null,
    source_version: item.source_version ?? null,
    origin: item.origin ?? null,
    held: item.held ? 1 : 0,
  };
}

function keyOf(record: PackageRecord): string {
  return `${record.name}\n${record.arch}\n${record.version}`;
}

function isSame(a: PackageRecord, b: PackageRecord): boolean {
  return (
    a.source_name === b.source_name &&
    a.source_version === b.source_version &&
    a.origin === b.origin &&
    a.held === b.held
  );
}
