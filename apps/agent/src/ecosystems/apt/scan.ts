import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { compareVersions } from '@tidegate/versions';
import type { HostPaths, Scan } from '../ecosystem.ts';
import { keyOf, readRecords, type Wanted } from './artifacts.ts';
import { readCondition } from './condition.ts';
import {
  type AptPlaces,
  databaseMark,
  findAptPlaces,
  findDatabaseFaults,
  type InstalledPackage,
  readInstalled,
} from './installed.ts';
import { findListFaults } from './lists.ts';
import {
  describeOrigins,
  type Origin,
  type PackagePolicy,
  parseOrigins,
  parsePolicies,
} from './parse-policy.ts';
import type { PackageRecord } from './parse-records.ts';
import { type AptSession, shownName, withAptSession } from './session.ts';

const REASON_MAX_CHARS = 2_000;

/**
 * Reads the installed packages and the newer version apt would choose for each. Held, kept-back and phased
 * updates are listed too; planning one fails with the reason. Anything unreadable makes the scan incomplete, so
 * it never looks like a host without updates.
 */
export async function scanApt(paths: HostPaths): Promise<Scan> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return incomplete([places.reason]);
  const before = await databaseMark(places.value).catch(() => null);
  if (before === null) return incomplete(["dpkg's database cannot be read"]);
  const faults = await findDatabaseFaults(places.value);
  const installed = await readInstalled(places.value);
  if (!installed.ok) return incomplete([...faults, installed.reason]);
  faults.push(...installed.value.faults);
  const { packages } = installed.value;
  if (packages.length === 0) faults.push('no package is installed, which cannot be');

  const offers = await withAptSession(paths, async (session) => {
    faults.push(...(await findListFaults(session, places.value)), ...(await findBrokenState(session)));
    return readOffers(session, packages, places.value);
  });
  faults.push(...offers.faults);
  const condition = await readCondition(places.value, installed.value);
  if ((await databaseMark(places.value).catch(() => null)) !== before) {
    faults.push('packages were changed while they were read');
  }
  return {
    complete: faults.length === 0,
    reason: faults.length === 0 ? null : faults.join('; ').slice(0, REASON_MAX_CHARS),
    packages: packages.map((pkg) =>
      describe(pkg, offers.origins.get(shownName(pkg, places.value.nativeArch))),
    ),
    updates: offers.updates,
    ...(condition && { condition }),
  };
}

function incomplete(faults: string[]): Scan {
  return { complete: false, reason: faults.join('; ').slice(0, REASON_MAX_CHARS), packages: [], updates: [] };
}

/** Unmet dependencies, and warnings such as a sources file that this user may not read. */
async function findBrokenState(session: AptSession): Promise<string[]> {
  const check = await session.run('apt-get', ['-q', 'check']);
  if (!check.ok) return [check.detail];
  const warnings = check.stderr.split('\n').filter((line) => line.startsWith('W: '));
  return warnings.filter((line) => !line.includes(' is configured multiple times in ')); // harmless, and common
}

interface Offers {
  updates: InventoryUpdate[];
  /** Where the installed version of a package comes from. */
  origins: ReadonlyMap<string, string>;
  faults: string[];
}

async function readOffers(
  session: AptSession,
  packages: readonly InstalledPackage[],
  places: AptPlaces,
): Promise<Offers> {
  const none = { updates: [], origins: new Map<string, string>() };
  const names = packages.map((pkg) => shownName(pkg, places.nativeArch));
  const [sources, answer] = [
    await session.run('apt-cache', ['policy']),
    await session.run('apt-cache', ['policy', ...names]),
  ];
  if (!sources.ok || !answer.ok) return { ...none, faults: ['apt-cache policy failed'] };
  const archives = parseOrigins(sources.stdout);
  const policies = parsePolicies(answer.stdout);
  if (!policies.ok) return { ...none, faults: [policies.reason] };

  const faults: string[] = [];
  const origins = new Map<string, string>();
  const found: Found[] = [];
  for (const [index, pkg] of packages.entries()) {
    const name = names[index] ?? pkg.name;
    const policy = policies.value.get(name);
    if (policy?.installed !== pkg.version) {
      faults.push(`apt and dpkg disagree about ${name}`);
      continue;
    }
    const origin = originsOf(policy, pkg.version, archives);
    if (origin.length > 0) origins.set(name, describeOrigins(origin));
    const { candidate } = policy;
    if (candidate === null || candidate === pkg.version) continue;
    const order = compareVersions('apt', pkg.version, candidate);
    if (order === 'undecidable') faults.push(`${name}: ${pkg.version} and ${candidate} cannot be ordered`);
    if (order === -1) found.push({ pkg, candidate, policy });
  }
  const updates = await describeUpdates(session, found, archives, places);
  faults.push(...updates.faults);
  return { updates: updates.updates, origins, faults };
}

interface Found {
  pkg: InstalledPackage;
  candidate: string;
  policy: PackagePolicy;
}

async function describeUpdates(
  session: AptSession,
  found: readonly Found[],
  archives: ReadonlyMap<string, Origin>,
  places: AptPlaces,
): Promise<{ updates: InventoryUpdate[]; faults: string[] }> {
  const wanted: Wanted[] = found.map(({ pkg, candidate }) => ({
    name: pkg.name,
    arch: pkg.arch,
    version: candidate,
  }));
  const records = await readRecords(session, wanted);
  const sizes = records.ok ? records.value : new Map<string, PackageRecord[]>();
  const updates = found.map(({ pkg, candidate, policy }): InventoryUpdate => {
    // The architecture may change from `all` to the host's own and back.
    const archs = [pkg.arch, 'all', places.nativeArch];
    const keys = archs.map((arch) => keyOf({ name: pkg.name, arch, version: candidate }));
    const size = keys.map((key) => sizes.get(key)?.[0]?.sizeBytes).find((bytes) => bytes !== undefined);
    const origins = originsOf(policy, candidate, archives);
    return {
      ...{ name: pkg.name, current_version: pkg.version, available_version: candidate, arch: pkg.arch },
      ...(origins.length > 0 && { origin: describeOrigins(origins) }),
      security: isSecurityUpdate(policy, pkg.version, archives),
      ...(size !== undefined && { size_bytes: size }),
    };
  });
  return { updates, faults: records.ok ? [] : [records.reason] };
}

/** Whether any version after the installed one up to the candidate comes from a security archive. */
function isSecurityUpdate(
  policy: PackagePolicy,
  current: string,
  archives: ReadonlyMap<string, Origin>,
): boolean {
  return policy.versions.some(
    ({ version, indexes }) =>
      compareVersions('apt', current, version) === -1 &&
      (policy.candidate === version || compareVersions('apt', version, policy.candidate ?? '') === -1) &&
      indexes.some((index) => archives.get(index)?.security),
  );
}

function originsOf(policy: PackagePolicy, version: string, archives: ReadonlyMap<string, Origin>): Origin[] {
  const offered = policy.versions.find((candidate) => candidate.version === version);
  return (offered?.indexes ?? []).flatMap((index) => archives.get(index) ?? []);
}

function describe(pkg: InstalledPackage, origin: string | undefined): InventoryPackage {
  return {
    ...{ name: pkg.name, version: pkg.version, arch: pkg.arch },
    ...{ source_name: pkg.sourceName, source_version: pkg.sourceVersion },
    ...(origin !== undefined && { origin }),
    held: pkg.held,
  };
}
