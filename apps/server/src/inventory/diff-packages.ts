import type { InventoryDelta, InventoryPackage } from '@tidegate/protocol/agent-api';
import {
  type ComparedPackage,
  comparedFacts,
  comparedKey,
  ofComparedKey,
} from '../installed/compared-store.ts';
import type { PackageRecord } from '../installed/store.ts';

type PackageKey = Pick<PackageRecord, 'name' | 'arch' | 'version'>;

export interface PackageDiff {
  /** New, or with changed facts. */
  put: PackageRecord[];
  gone: PackageKey[];
}

/** Takes the stored packages, then the reported ones, each in any number of pieces. */
export interface PackageDiffing {
  addStored(packages: readonly ComparedPackage[]): void;
  addReported(packages: readonly InventoryPackage[]): void;
  result(): PackageDiff;
}

/** The writes that make the stored packages those of the report. A package named twice counts once. */
export function createPackageDiff(): PackageDiffing {
  /** What is stored of each package; null: it was reported. */
  const known = new Map<string, string | null>();
  const put: PackageRecord[] = [];
  return {
    addStored(packages) {
      for (const { key, facts } of packages) known.set(key, facts);
    },
    addReported(packages) {
      for (const item of packages) {
        const record = recordOf(item);
        const key = comparedKey(record);
        const facts = known.get(key);
        if (facts === null) continue;
        known.set(key, null);
        if (facts !== comparedFacts(record)) put.push(record);
      }
    },
    result() {
      const gone: PackageKey[] = [];
      for (const [key, facts] of known) if (facts !== null) gone.push(ofComparedKey(key));
      return { put, gone };
    },
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
  const left = new Map(stored.map((record) => [comparedKey(record), record]));
  const removed: PackageKey[] = [];
  for (const item of gone) {
    const key = comparedKey(recordOf(item));
    const record = left.get(key);
    if (!record) return null;
    left.delete(key);
    removed.push(record);
  }
  const seen = new Set<string>();
  const written: PackageRecord[] = [];
  let added = -removed.length;
  for (const record of put.map(recordOf)) {
    const key = comparedKey(record);
    if (seen.has(key)) continue;
    seen.add(key);
    const known = left.get(key);
    if (!known) added += 1;
    if (!known || comparedFacts(known) !== comparedFacts(record)) written.push(record);
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
