import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { compareVersions } from '@tidegate/versions';
import { downloadIdentity } from '../downloads.ts';
import type { HostPaths, Scan } from '../ecosystem.ts';
import { parseAnswer, ScanAnswer } from './answers.ts';
import { readCondition } from './condition.ts';
import { databaseMark, type InstalledPackage, readInstalled } from './installed.ts';
import { evrOf } from './names-rules.ts';
import { findDnfPlaces, type Parsed } from './places.ts';
import { type DnfSession, withDnfSession } from './session.ts';

const REASON_MAX_CHARS = 2_000;

/**
 * Reads the installed packages from rpm, and from dnf the newer version of each in the enabled repositories.
 * Locked and excluded updates are listed too; planning one fails with the reason. Anything unreadable makes the
 * scan incomplete, so it never looks like a host without updates.
 */
export async function scanDnf(paths: HostPaths): Promise<Scan> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return incomplete([places.reason]);
  const before = await databaseMark(places.value);
  const identity = await downloadIdentity(null); // not as root, so that nothing of the host is changed
  return withDnfSession(places.value, identity, async (session) => {
    const installed = await readInstalled(session);
    if (!installed.ok) return incomplete([installed.reason]);
    const offers = await readOffers(session);
    const condition = offers.ok ? await readCondition(session, offers.value) : undefined;
    const scan = { ...describeScan(installed.value, offers), ...(condition && { condition }) };
    if (before === (await databaseMark(places.value))) return scan;
    return { ...scan, ...unwhole([...faultsOf(scan), 'packages were changed while they were read']) };
  });
}

async function readOffers(session: DnfSession): Promise<Parsed<ScanAnswer>> {
  return parseAnswer(await session.ask('scan', {}), ScanAnswer);
}

/** Combines the answers of rpm and dnf; the scan is incomplete when they disagree. */
export function describeScan(installed: readonly InstalledPackage[], offers: Parsed<ScanAnswer>): Scan {
  const faults: string[] = [];
  if (installed.length === 0) faults.push('no package is installed, which cannot be');
  if (!offers.ok) {
    const packages = installed.map((pkg) => describe(pkg, undefined, false));
    return { ...unwhole([...faults, offers.reason]), packages, updates: [] };
  }
  const { updates, origins, locked } = offers.value;
  faults.push(...offers.value.faults);
  if (locked) faults.push('another program is changing packages');
  const known = new Map(origins.map((pkg) => [keyOf(pkg.name, pkg.arch, pkg.evr), pkg.repository]));
  for (const { name, arch, evr } of installed) {
    if (!known.has(keyOf(name, arch, evr))) faults.push(`dnf does not know of ${name} ${evr}`);
  }
  const held = new Set(
    updates.flatMap(({ from, held }) => (held ? [keyOf(from.name, from.arch, evrOf(from))] : [])),
  );
  const offered = updates.flatMap((update): InventoryUpdate[] => {
    const { from, to } = update;
    const order = compareVersions('dnf', evrOf(from), evrOf(to));
    if (order === 'undecidable') faults.push(`${to.name}: ${evrOf(from)} and ${evrOf(to)} cannot be ordered`);
    if (order !== -1) return [];
    return [
      {
        ...{ name: to.name, arch: from.arch, current_version: evrOf(from), available_version: evrOf(to) },
        ...(to.repository !== null && { origin: to.repository }),
        ...{ security: update.security, size_bytes: to.size },
      },
    ];
  });
  return {
    ...(faults.length === 0 ? { complete: true, reason: null } : unwhole(faults)),
    packages: installed.map((pkg) => {
      const key = keyOf(pkg.name, pkg.arch, pkg.evr);
      return describe(pkg, known.get(key), held.has(key));
    }),
    updates: offered,
  };
}

function describe(pkg: InstalledPackage, origin: string | null | undefined, held: boolean): InventoryPackage {
  const { name, arch, evr: version, sourceName, sourceVersion } = pkg;
  return {
    ...{ name, version, arch, held },
    ...(sourceName !== null &&
      sourceVersion !== null && { source_name: sourceName, source_version: sourceVersion }),
    ...(origin != null && origin !== '' && { origin: origin.slice(0, 512) }),
  };
}

function incomplete(faults: string[]): Scan {
  return { ...unwhole(faults), packages: [], updates: [] };
}

function unwhole(faults: readonly string[]): { complete: false; reason: string } {
  return { complete: false, reason: faults.join('; ').slice(0, REASON_MAX_CHARS) };
}

function faultsOf({ reason }: Scan): string[] {
  return reason === null ? [] : [reason];
}

function keyOf(name: string, arch: string, evr: string): string {
  return `${name}.${arch} ${evr}`;
}
