import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { HostSystem } from '../advisories/ecosystem-strings.ts';
import type { PackageVersionOf } from '../advisories/subjects.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { type Installed, installedOf } from './unfixed-rules.ts';

/** The packages of one ecosystem of a host, shared by all hosts that have the same. Architectures are not told apart. */
export interface Image {
  readonly ecosystem: Ecosystem;
  readonly packages: readonly Installed[];
  /** Whether these are all packages of the host. */
  readonly isWhole: boolean;
}

export interface Reported {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  readonly system: HostSystem;
  /** Names the report: one with the same digest has the same packages. Null: it may change any time. */
  readonly digest: string | null;
}

/** Distinct package versions that are kept; from half of them on, those that no host has any more are forgotten. */
const VERSIONS_MAX = 500_000;
/** Packages of all kept images together, about 8 bytes each. */
const KEPT_MAX = 10_000_000;

/**
 * Versions that a host has of what databases are asked about under one name. An honest one has a few; of those that a host makes up
 * each would be looked up, and kept with its vulnerabilities. What is beyond is left out.
 */
const VERSIONS_OF_NAME_MAX = 200;

/** A version of a package as the hosts of one system have it. */
interface Version {
  /** Never given to another: the images that have it are named by it. */
  readonly number: number;
  readonly installed: Installed;
  /** How many images have it. */
  images: number;
}

/** Remembers from one pass to the next what hosts have installed, so that a pass reads only what has changed. */
export function createImageCache({
  versionsMax = VERSIONS_MAX,
  keptMax = KEPT_MAX,
  ofNameMax = VERSIONS_OF_NAME_MAX,
} = {}) {
  /** In the order in which they came. */
  const versions = new Map<string, Version>();
  const ofInstalled = new Map<Installed, Version>();
  let numbered = 0;
  const images = new Map<string, Image>();
  const reports = new Map<string, { name: string; image: Image; pass: number }>();
  let kept = 0;
  let pass = 0;

  /** What this report contains, if it is known. */
  function find(report: Reported): Image | null {
    const known = reports.get(placeOf(report));
    if (!known || known.name !== nameOf(report)) return null;
    known.pass = pass;
    return known.image;
  }

  /** Takes up what was read of a report; at the limits it is not kept. */
  function add(report: Reported, packages: readonly PackageVersionOf[]): Image {
    const { ecosystem, system } = report;
    if (versions.size + packages.length > versionsMax || kept + packages.length > keptMax) {
      const unkept = packages.map((one) => installedOf(ecosystem, system, one));
      const own = someOf(unkept, ofNameMax);
      return { ecosystem, packages: own, isWhole: own.length === unkept.length };
    }
    const all = packages.map((one) => versionOf(ecosystem, system, one));
    const own = [...new Set(all)].sort((a, b) => a.number - b.number);
    const some = someOf(
      own.map(({ installed }) => installed),
      ofNameMax,
    );
    const key = sha256Hex(`${ecosystem} ${own.map(({ number }) => number).join()}`);
    const image = images.get(key) ?? { ecosystem, packages: some, isWhole: some.length === own.length };
    if (!images.has(key)) {
      images.set(key, image);
      kept += some.length;
      countIn(image, 1);
    }
    const name = nameOf(report);
    if (name !== null) reports.set(placeOf(report), { name, image, pass });
    return image;
  }

  function versionOf(ecosystem: Ecosystem, system: HostSystem, one: PackageVersionOf) {
    const { name, version, sourceName, sourceVersion, origin } = one;
    const key = [
      ecosystem,
      system.id,
      system.versionId,
      name,
      version,
      sourceName,
      sourceVersion,
      origin,
    ].join('\n');
    const known = versions.get(key);
    if (known) return known;
    const added = { number: numbered++, installed: installedOf(ecosystem, system, one), images: 0 };
    versions.set(key, added);
    ofInstalled.set(added.installed, added);
    return added;
  }

  function countIn({ packages }: Image, by: 1 | -1): void {
    for (const installed of packages) {
      const version = ofInstalled.get(installed);
      if (version) version.images += by;
    }
  }

  /** Forgets versions that no host has any more, the oldest first, as long as there are many. */
  function forgetVersions(): void {
    for (const [key, { installed, images: uses }] of versions) {
      if (versions.size < versionsMax / 2) return;
      if (uses > 0) continue;
      versions.delete(key);
      ofInstalled.delete(installed);
    }
  }

  return {
    find,
    add,
    /** Begins a pass. The reports that the one before has not met are of hosts that are gone. */
    begin(): void {
      for (const [place, report] of reports) if (report.pass < pass) reports.delete(place);
      pass += 1;
      const inUse = new Set([...reports.values()].map(({ image }) => image));
      for (const [key, image] of images) {
        if (inUse.has(image)) continue;
        images.delete(key);
        kept -= image.packages.length;
        countIn(image, -1);
      }
      forgetVersions();
    },
  };
}

/** The first of these packages, in so many versions of each name that databases know. */
function someOf(packages: readonly Installed[], most: number): readonly Installed[] {
  const versions = new Map<string, Set<string>>();
  return packages.filter(({ subjects }) =>
    subjects.every(({ ecosystem, name, version }) => {
      const place = `${ecosystem}\n${name}`;
      const own = versions.get(place) ?? new Set();
      if (own.size >= most && !own.has(version)) return false;
      versions.set(place, own.add(version));
      return true;
    }),
  );
}

export type ImageCache = ReturnType<typeof createImageCache>;

function placeOf({ agentId, ecosystem }: Reported): string {
  return `${agentId} ${ecosystem}`;
}

function nameOf({ digest, system }: Reported): string | null {
  return digest === null ? null : `${digest} ${system.id} ${system.versionId}`;
}
