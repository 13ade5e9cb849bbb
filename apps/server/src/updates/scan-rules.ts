import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { compareVersions } from '@tidegate/versions';
import { isSmallestFix } from './offer-rules.ts';
import type { UpdateRow } from './store.ts';
import { SCAN_CLOSES } from './transition-rules.ts';

export type ScanClosure = { kind: 'installed' } | { kind: 'superseded'; reason: string };

export type InstalledVersion = Pick<InventoryPackage, 'name' | 'arch' | 'version'>;

/** The versions of one package: one of them is the greatest, unless none can be ordered. */
export interface Versions {
  readonly greatest: string;
  /** All of them; null if there is one, as nearly always. */
  readonly all: ReadonlySet<string> | null;
}

/** The packages of one ecosystem in a report, by name. */
export interface ScanFacts {
  ecosystem: string;
  /** Versions offered, by package; a newer one supersedes, unless the version itself is offered beside it. */
  offered: ReadonlyMap<string, Versions>;
  /** npm and PyPI: versions that may be installed, by package; a smallest fix is one of them. */
  candidates: ReadonlyMap<string, ReadonlySet<string>>;
  /** Versions installed, by package; null if the scan is incomplete and so proves nothing. */
  installed: ReadonlyMap<string, Versions> | null;
}

/** Package and architecture as one key; a report without an architecture has an empty one. */
export function packageKey(of: { name: string; arch?: string | undefined }): string {
  return `${of.name}\n${of.arch ?? ''}`;
}

/** What tells two offers of a report apart. */
export function offerKey(update: InventoryUpdate): string {
  return `${packageKey(update)}\n${update.available_version}`;
}

/** The same of a row; a rollback is never what a host offers. */
export function rowKey(
  row: Pick<UpdateRow, 'id' | 'name' | 'arch' | 'available_version' | 'rollback_of'>,
): string {
  const key = `${packageKey(row)}\n${row.available_version}`;
  return row.rollback_of === null ? key : `${key}\n${row.id}`;
}

/** Takes a report in any number of pieces. Its cost is linear, however many versions a package has. */
export interface GrowingFacts extends ScanFacts {
  addUpdates(updates: readonly InventoryUpdate[]): void;
  addPackages(packages: readonly InstalledVersion[]): void;
}

export function createScanFacts({
  ecosystem,
  complete,
}: {
  ecosystem: string;
  complete: boolean;
}): GrowingFacts {
  const offered = new Map<string, KnownVersions>();
  const candidates = new Map<string, Set<string>>();
  const installed = complete ? new Map<string, KnownVersions>() : null;
  return {
    ...{ ecosystem, offered, candidates, installed },
    addUpdates(updates) {
      for (const update of updates) {
        const key = packageKey(update);
        add(offered, ecosystem, key, update.available_version);
        if (update.candidates) candidates.set(key, new Set(update.candidates));
      }
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

/**
 * Whether a scan closes an update, and how: seen installed, overtaken by a newer installed version, or
 * superseded by the offer of another; a failed one, and one that is being installed, only if seen installed. An
 * undecidable order is not "newer". An incomplete scan closes nothing. A rollback ends when the host has another version
 * than the one to be undone.
 */
export function closedByScan(
  update: Pick<
    UpdateRow,
    'name' | 'arch' | 'current_version' | 'available_version' | 'state' | 'offers' | 'rollback_of'
  >,
  facts: ScanFacts,
): ScanClosure | null {
  if (facts.installed === null || !SCAN_CLOSES.some((state) => state === update.state)) return null;
  const key = packageKey(update);
  const { available_version: available } = update;
  const installed = facts.installed.get(key);
  if (installed && includes(installed, available)) return { kind: 'installed' };
  // Whether to try again is the operator's decision; an installation that has begun is not overtaken.
  if (update.state === 'failed' || update.state === 'installing') return null;
  if (update.rollback_of !== null) {
    const isThere = installed !== undefined && includes(installed, update.current_version);
    return isThere ? null : { kind: 'superseded', reason: 'changed_since' };
  }
  if (isNewer(facts.ecosystem, installed, available)) {
    return { kind: 'superseded', reason: `newer_installed: ${installed.greatest}` };
  }
  const offered = facts.offered.get(key);
  if (hasPlaces(facts.ecosystem)) return supersededByOffer(update, { facts, key, offered });
  return isNewer(facts.ecosystem, offered, available)
    ? { kind: 'superseded', reason: `superseded_by: ${offered.greatest}` }
    : null;
}

/** npm and PyPI offer several versions at once: an update ends only when the report offers others without its own. */
function supersededByOffer(
  update: Pick<UpdateRow, 'available_version' | 'offers'>,
  { facts, key, offered }: { facts: ScanFacts; key: string; offered: Versions | undefined },
): ScanClosure | null {
  const { available_version: available, offers } = update;
  if (offered === undefined || includes(offered, available)) return null;
  if (isSmallestFix(offers) && facts.candidates.get(key)?.has(available)) return null;
  switch (compareVersions(facts.ecosystem, offered.greatest, available)) {
    case 1:
      return { kind: 'superseded', reason: `superseded_by: ${offered.greatest}` };
    case -1:
      return { kind: 'superseded', reason: 'no_longer_offered' };
    case 0:
    case 'undecidable':
      return null;
  }
}

/** Whether each place of an npm or PyPI package has updates of its own. */
export function hasPlaces(ecosystem: string): boolean {
  return ecosystem === 'npm' || ecosystem === 'pypi';
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

/** A version that cannot be ordered gives way to one that can; between equals the text decides, not their order in the report. */
function greaterOf(ecosystem: string, current: string, next: string): string {
  const order = compareVersions(ecosystem, next, current);
  const later = next > current ? next : current;
  if (order !== 'undecidable') return order === 0 ? later : order > 0 ? next : current;
  const isOrdered = (version: string) => compareVersions(ecosystem, version, version) !== 'undecidable';
  if (isOrdered(current) === isOrdered(next)) return later;
  return isOrdered(next) ? next : current;
}
