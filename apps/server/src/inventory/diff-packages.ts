import type { InventoryDelta, InventoryPackage } from '@tidegate/protocol/agent-api';
import { type ComparedPackage, comparedFacts, installedOf } from '../installed/compared-store.ts';
import { type InstalledKey, installedKey } from '../installed/identity.ts';
import type { InstalledPackage, PackageChanges, PackageRecord, StoredPackage } from '../installed/store.ts';

export interface PackageDiff extends PackageChanges {
  /** New, or with changed facts. */
  put: PackageRecord[];
  gone: InstalledKey[];
}

/** Takes the stored packages, then the reported ones, then those that were not reported, each in any number of pieces. */
export interface PackageDiffing {
  addStored(packages: readonly ComparedPackage[]): void;
  addReported(packages: readonly InventoryPackage[]): void;
  notReported(): readonly ComparedPackage[];
  addGone(packages: readonly ComparedPackage[]): void;
  result(): PackageDiff;
}

/** The writes that make the stored packages those of the report. A package named twice counts once. */
export function createPackageDiff(): PackageDiffing {
  /** What is stored of each package; null: it was reported. */
  const known = new Map<string, ComparedPackage | null>();
  const stored = new Map<string, InstalledPackage>();
  const put: PackageRecord[] = [];
  const gone: InstalledPackage[] = [];
  return {
    addStored(packages) {
      for (const one of packages) known.set(one.key, one);
    },
    addReported(packages) {
      for (const item of packages) {
        const record = recordOf(item);
        const key = installedKey(record);
        const before = known.get(key);
        if (before === null) continue;
        known.set(key, null);
        if (before?.facts === comparedFacts(record)) continue;
        if (before) stored.set(key, installedOf(before));
        put.push(record);
      }
    },
    notReported: () => [...known.values()].filter((one) => one !== null),
    addGone(packages) {
      for (const one of packages) {
        const before = installedOf(one);
        stored.set(one.key, before);
        gone.push(before);
      }
    },
    result: () => ({ put, gone, stored }),
  };
}

/** The keys of all packages that a delta is about. */
export function keysOfDelta({ put, gone }: Pick<InventoryDelta, 'put' | 'gone'>): Set<string> {
  return new Set([...put, ...gone].map((item) => installedKey(recordOf(item))));
}

/**
 * The writes of a delta, by what is stored of its packages, and how many packages there are more afterwards. Null if a
 * package to be removed is not stored.
 */
export function diffDelta(
  known: readonly StoredPackage[],
  { put, gone }: Pick<InventoryDelta, 'put' | 'gone'>,
): (PackageDiff & { added: number }) | null {
  const stored = new Map(known.map((record) => [installedKey(record), record]));
  const left = new Map(stored);
  const removed: InstalledKey[] = [];
  for (const item of gone) {
    const key = installedKey(recordOf(item));
    const record = left.get(key);
    if (!record) return null;
    left.delete(key);
    removed.push(record);
  }
  const seen = new Set<string>();
  const written: PackageRecord[] = [];
  let added = -removed.length;
  for (const record of put.map(recordOf)) {
    const key = installedKey(record);
    if (seen.has(key)) continue;
    seen.add(key);
    const before = left.get(key);
    if (!before) added += 1;
    if (!before || comparedFacts(before) !== comparedFacts(record)) written.push(record);
  }
  return { put: written, gone: removed, stored, added };
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
