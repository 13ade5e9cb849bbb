import {
  INVENTORY_MAX_PACKAGES,
  type InventoryPackage,
  type InventoryUpdate,
} from '@tidegate/protocol/agent-api';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { HostPaths, Scan } from '../ecosystem.ts';
import { chooseOffers } from '../offers-rules.ts';
import { originOf } from './actions.ts';
import { archOf, childOf, folderOfPlace, type NpmPlace } from './locations.ts';
import { directNeeds, parseManifest } from './manifest.ts';
import { judgeOffer, parseJson, readNodeVersion, readOffers, readVersions } from './offers.ts';
import { findPlaces, readProject } from './places.ts';
import { readPlatform } from './platform.ts';
import { findOmitted, findProjectFaults } from './project-state-rules.ts';
import { type NpmSession, unprivileged, withNpmSession } from './session.ts';
import { type DiskPackage, type DiskTree, readTree } from './tree.ts';

const REASON_MAX_CHARS = 2_000;
/** Packages of one place whose versions are queried, a run of npm each; of the others only the newest is offered. */
const VERSIONS_MAX_PACKAGES = 200;
/** A longer range comes from no person. */
const RANGE_MAX_CHARS = 256;

const List = Type.Object({
  problems: Type.Optional(Type.Array(Type.String())),
  dependencies: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});

/** The packages of one place and their updates. */
interface PlaceScan {
  packages: InventoryPackage[];
  updates: InventoryUpdate[];
  faults: string[];
}

/**
 * Reads the global packages and the projects named by the administrator, and queries the registry for newer
 * versions: `latest` for a global package, the newest version in range for a project's dependency. Anything that
 * cannot be read or queried makes the scan incomplete, so it never looks like a host without updates.
 */
export async function scanNpm(paths: HostPaths): Promise<Scan> {
  return withNpmSession(
    paths,
    async (session) => {
      const { places, faults } = await findPlaces(session, paths);
      const scans: PlaceScan[] = [];
      for (const place of places) {
        scans.push(
          place.kind === 'global' ? await scanGlobal(session, place) : await scanProject(session, place),
        );
      }
      const packages = scans.flatMap((scan) => scan.packages);
      const all = [...faults, ...scans.flatMap((scan) => scan.faults)];
      if (packages.length > INVENTORY_MAX_PACKAGES)
        all.push(`there are more than ${INVENTORY_MAX_PACKAGES} packages`);
      return {
        complete: all.length === 0,
        reason: all.length === 0 ? null : all.join('; ').slice(0, REASON_MAX_CHARS),
        packages: packages.slice(0, INVENTORY_MAX_PACKAGES),
        updates: scans.flatMap((scan) => scan.updates),
      };
    },
    { identity: await unprivileged() },
  );
}

async function scanGlobal(session: NpmSession, place: NpmPlace): Promise<PlaceScan> {
  const disk = await readTree(folderOfPlace(place));
  const faults = [...disk.faults, ...(await findListFaults(session, place, disk))];
  const tops = [...disk.packages.values()].filter(isTop);
  const ranges = new Map(tops.map(({ name }) => [name, '*']));
  const offers = await readOffers(session, ranges);
  if (!offers.ok) faults.push(offers.reason);
  const newest = (name: string) => (offers.ok ? (offers.value.get(name)?.latest ?? null) : null);
  return finish({
    session,
    place,
    disk,
    faults,
    newest,
    ranges,
    candidates: tops,
    originAt: () => null,
    held: new Set(),
  });
}

async function scanProject(session: NpmSession, place: NpmPlace): Promise<PlaceScan> {
  const none = { packages: [], updates: [] };
  const project = await readProject(place.path);
  if (!project.ok) return { ...none, faults: [project.reason] };
  const manifest = parseManifest(project.value.manifest);
  if (!manifest.ok) return { ...none, faults: [`${place.path}: ${manifest.reason}`] };
  const { lock } = project.value;
  const disk = await readTree(place.path);
  const platform = await readPlatform();
  const omitted = findOmitted(lock, disk, platform);
  const faults = [
    ...disk.faults,
    ...findProjectFaults(lock, disk, { platform, omitted }).map((fault) => `${place.path}: ${fault}`),
  ];
  const needs = directNeeds(manifest.value);
  const movable = new Map(
    needs.filter((need) => need.isRegistry && !need.isPinned).map(({ name, range }) => [name, range]),
  );
  const candidates = [...disk.packages.values()].filter((pkg) => isTop(pkg) && movable.has(pkg.name));
  const asked = new Map([...movable].filter(([name]) => candidates.some((pkg) => pkg.name === name)));
  const offers = await readOffers(session, asked);
  if (!offers.ok) faults.push(offers.reason);
  const newest = (name: string) => (offers.ok ? (offers.value.get(name)?.wanted ?? null) : null);
  const originAt = (location: string) => originOf({ resolved: lock.entries.get(location)?.resolved ?? null });
  const held = new Set(needs.filter(({ isPinned }) => isPinned).map(({ name }) => childOf('', name)));
  return finish({ session, place, disk, faults, newest, ranges: movable, candidates, originAt, held });
}

/** `npm ls` reports unmet dependencies; it must list the same packages as our own scan. */
async function findListFaults(session: NpmSession, { path }: NpmPlace, disk: DiskTree): Promise<string[]> {
  const cwd = await session.makeFolder({});
  const run = await session.run(['ls', '--global', '--all', '--json', `--prefix=${path}`], {
    cwd,
    isOwn: true,
  });
  const value = parseJson(run.stdout);
  if (!Check(List, value)) return [run.ok ? 'npm ls answered in an unknown format' : run.detail];
  // Extraneous packages are listed too; they are harmless.
  const problems = (value.problems ?? []).filter((problem) => !problem.startsWith('extraneous:'));
  const seen = new Set(Object.keys(value.dependencies ?? {}));
  const tops = [...disk.packages.keys(), ...disk.links].filter(
    (location) => !location.includes('/node_modules/'),
  );
  const unseen = tops.filter((location) => !seen.has(location.slice('node_modules/'.length)));
  return [...problems.slice(0, 5), ...unseen.map((location) => `npm does not list ${location}`).slice(0, 5)];
}

async function finish(found: {
  session: NpmSession;
  place: NpmPlace;
  disk: DiskTree;
  faults: string[];
  newest: (name: string) => string | null;
  /** What may be installed of each package. */
  ranges: ReadonlyMap<string, string>;
  candidates: readonly DiskPackage[];
  originAt: (location: string) => string | null;
  held: ReadonlySet<string>;
}): Promise<PlaceScan> {
  const { session, place, disk, faults } = found;
  const packages: InventoryPackage[] = [];
  for (const pkg of disk.packages.values()) {
    const arch = archOf(place, pkg);
    if (arch === null) {
      faults.push(`the path of ${pkg.location} is longer than a report takes`);
      continue;
    }
    const origin = found.originAt(pkg.location);
    const held = found.held.has(pkg.location);
    packages.push({ name: pkg.name, version: pkg.version, arch, ...(origin !== null && { origin }), held });
  }
  const updates: InventoryUpdate[] = [];
  const node = await readNodeVersion(session);
  if (!node.ok) faults.push(node.reason);
  let queried = 0;
  for (const { name, version } of found.candidates) {
    const newest = found.newest(name);
    if (newest === null) continue;
    const judged = judgeOffer({ current: version, offered: newest });
    if (judged === 'undecidable') faults.push(`${name}: ${version} and ${newest} cannot be ordered`);
    if (judged !== 'newer') continue;
    const range = found.ranges.get(name) ?? '';
    const isQueried = node.ok && queried < VERSIONS_MAX_PACKAGES && range.length <= RANGE_MAX_CHARS;
    if (isQueried) queried += 1;
    const versions = isQueried ? await readVersions(session, { name, range, node: node.value }) : NOT_QUERIED;
    if (!versions.ok) faults.push(versions.reason);
    const known = versions.ok ? versions.value : [];
    for (const offered of chooseOffers('npm', { current: version, newest, versions: known })) {
      const { version: available, offers, candidates } = offered;
      updates.push({
        ...{ name, current_version: version, available_version: available },
        ...{ arch: place.path, origin: session.registry.slice(0, 512), offers },
        ...(candidates && { candidates }),
      });
    }
  }
  return { packages, updates, faults };
}

const NOT_QUERIED = { ok: true, value: [] } as const;

/** A top-level package installed under its own name. */
function isTop({ location, name }: DiskPackage): boolean {
  return location === childOf('', name);
}
