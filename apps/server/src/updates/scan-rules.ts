import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { compareVersions } from '@tidegate/versions';
import type { UpdateRow } from './store.ts';
import { SCAN_CLOSES } from './transition-rules.ts';

export type ScanClosure = { kind: 'installed' } | { kind: 'superseded'; reason: string };

/** What a report says about the packages of one ecosystem, ready to be asked by name. */
export interface ScanFacts {
  ecosystem: string;
  /** Versions offered, by package; a newer one supersedes. */
  offered: ReadonlyMap<string, readonly string[]>;
  /** Versions installed, by package; null where the scan is incomplete and so proves nothing. */
  installed: ReadonlyMap<string, readonly string[]> | null;
}

/** Package and architecture as one key; a report without an architecture has an empty one. */
export function packageKey(of: { name: string; arch?: string | undefined }): string {
  return `${of.name}\n${of.arch ?? ''}`;
}

export function scanFacts(report: {
  ecosystem: string;
  complete: boolean;
  packages: readonly InventoryPackage[];
  updates: readonly InventoryUpdate[];
}): ScanFacts {
  const offered = new Map<string, string[]>();
  for (const update of report.updates) push(offered, packageKey(update), update.available_version);
  if (!report.complete) return { ecosystem: report.ecosystem, offered, installed: null };
  const installed = new Map<string, string[]>();
  for (const item of report.packages) {
    push(installed, packageKey(item), item.version);
    // An update without an architecture is of any of them.
    if (item.arch) push(installed, packageKey({ name: item.name }), item.version);
  }
  return { ecosystem: report.ecosystem, offered, installed };
}

/**
 * Whether a scan closes an update, and how: seen installed, overtaken by a newer installed version, or superseded by
 * a newer offer. An order that cannot be decided is not "newer". An incomplete scan closes nothing at all.
 */
export function closureByScan(
  update: Pick<UpdateRow, 'name' | 'arch' | 'available_version' | 'state'>,
  facts: ScanFacts,
): ScanClosure | null {
  if (facts.installed === null || !SCAN_CLOSES.some((state) => state === update.state)) return null;
  const key = packageKey(update);
  const { available_version: available } = update;
  const newer = (version: string) => compareVersions(facts.ecosystem, version, available) === 1;
  const installed = facts.installed.get(key) ?? [];
  if (installed.includes(available)) return { kind: 'installed' };
  const overtaking = installed.find(newer);
  if (overtaking !== undefined) return { kind: 'superseded', reason: `newer_installed: ${overtaking}` };
  const offer = facts.offered.get(key)?.find(newer);
  return offer === undefined ? null : { kind: 'superseded', reason: `superseded_by: ${offer}` };
}

function push(map: Map<string, string[]>, key: string, version: string): void {
  const versions = map.get(key);
  if (versions) versions.push(version);
  else map.set(key, [version]);
}
