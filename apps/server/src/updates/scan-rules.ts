import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { compareVersions } from '@tidegate/versions';
import type { UpdateRow } from './store.ts';
import { SCAN_CLOSES } from './transition-rules.ts';

export type ScanClosure = { kind: 'installed' } | { kind: 'superseded'; reason: string };

/** The versions of one package: one of them is the greatest, unless none can be ordered. */
export interface Versions {
  readonly greatest: string;
  /** All of them; null if there is one, as nearly always. */
  readonly all: ReadonlySet<string> | null;
}

/** The packages of one ecosystem in a report, by name. */
export interface ScanFacts {
  ecosystem: string;
  /** Versions offered, by package; a newer one supersedes. */
  offered: ReadonlyMap<string, Versions>;
  /** Versions installed, by package; null if the scan is incomplete and so proves nothing. */
  installed: ReadonlyMap<string, Versions> | null;
}

/** Package and architecture as one key; a report without an architecture has an empty one. */
export function packageKey(of: { name: string; arch?: string | undefined }): string {
  return `${of.name}\n${of.arch ?? ''}`;
}

/** Takes a report in any number of pieces. Its cost is linear, however many versions a package has. */
export interface GrowingFacts extends ScanFacts {
  addUpdates(updates: readonly InventoryUpdate[]): void;
  addPackages(packages: readonly InventoryPackage[]): void;
}

export function createScanFacts({
  ecosystem,
  complete,
}: {
  ecosystem: string;
  complete: boolean;
}): GrowingFacts {
  const offered = new Map<string, KnownVersions>();
  const installed = complete ? new Map<string, KnownVersions>() : null;
  return {
    ...{ ecosystem, offered, installed },
    addUpdates(updates) {
      for (const update of updates) add(offered, ecosystem, packageKey(update), update.available_version);
    },
    addPackages(packages) {
      if (installed === null) return;
      for (const item of packages) {
        add(installed, ecosystem, packageKey(item), item.version);
        // An update without an architecture matches any of them.
        if (item.arch) add(installed, ecosystem, packageKey({ name: item.name }), item.version);
      }
    },
  };
}

export function scanFacts(report: {
  ecosystem: string;
  complete: boolean;
  packages: readonly InventoryPackage[];
  updates: readonly InventoryUpdate[];
}): ScanFacts {
  const facts = createScanFacts(report);
  facts.addUpdates(report.updates);
  facts.addPackages(report.packages);
  return facts;
}

/**
 * Whether a scan closes an update, and how: seen installed, overtaken by a newer installed version, or
 * superseded by a newer offer; a failed one only if seen installed. An undecidable order is not "newer". An
 * incomplete scan closes nothing.
 */
export function closedByScan(
  update: Pick<UpdateRow, 'name' | 'arch' | 'available_version' | 'state'>,
  facts: ScanFacts,
): ScanClosure | null {
  if (facts.installed === null || !SCAN_CLOSES.some((state) => state === update.state)) return null;
  const key = packageKey(update);
  const { available_version: available } = update;
  const installed = facts.installed.get(key);
  if (installed && includes(installed, available)) return { kind: 'installed' };
  if (update.state === 'failed') return null; // whether to try again is the operator's decision
  if (isNewer(facts.ecosystem, installed, available)) {
    return { kind: 'superseded', reason: `newer_installed: ${installed.greatest}` };
  }
  const offered = facts.offered.get(key);
  return isNewer(facts.ecosystem, offered, available)
    ? { kind: 'superseded', reason: `superseded_by: ${offered.greatest}` }
    : null;
}

function isNewer(ecosystem: string, versions: Versions | undefined, than: string): versions is Versions {
  return versions !== undefined && compareVersions(ecosystem, versions.greatest, than) === 1;
}

interface KnownVersions extends Versions {
  greatest: string;
  all: Set<string> | null;
}

function includes({ all, greatest }: Versions, version: string): boolean {
  return all === null ? version === greatest : all.has(version);
}

function add(map: Map<string, KnownVersions>, ecosystem: string, key: string, version: string): void {
  const versions = map.get(key);
  if (!versions) {
    map.set(key, { greatest: version, all: null });
  } else if (!includes(versions, version)) {
    versions.all ??= new Set([versions.greatest]);
    versions.all.add(version);
    versions.greatest = greaterOf(ecosystem, versions.greatest, version);
  }
}

/** A version that cannot be ordered gives way to any other. */
function greaterOf(ecosystem: string, current: string, next: string): string {
  const order = compareVersions(ecosystem, next, current);
  if (order !== 'undecidable') return order > 0 ? next : current;
  return compareVersions(ecosystem, current, current) === 'undecidable' ? next : current;
}
