import type { Subject } from '../advisories/subjects.ts';
import { subjectKey } from '../advisories/subjects.ts';
import type { Image } from './image-cache.ts';
import {
  type Installed,
  isFixedBy,
  type Judgements,
  type Vulnerable,
  vulnerableOf,
} from './unfixed-rules.ts';

/** Vulnerabilities that are counted; those of the last hosts beyond it are left out, and the page says so. */
const VULNERABILITIES_MAX = 50_000;
/** Installed packages that a vulnerability names: those of the kernel's source are many. */
const NAMES_MAX = 100;
/** Distinct installed versions of a vulnerability's package whose fix is looked up. */
const VERSIONS_MAX = 20;
/** Kinds of hosts that wait to be counted together. */
const KINDS_MAX = 20_000;

export interface Counted {
  hosts: number;
  /** Hosts whose pending updates are judged to fix it; not in `hosts`. */
  pending: number;
}

/** How many hosts have one vulnerability of one source. */
export interface Sum extends Counted {
  readonly id: string;
  readonly key: string;
  readonly ecosystem: Image['ecosystem'];
  readonly subjects: Map<string, Subject>;
  readonly packages: Set<string>;
  /** The empty name is that of hosts without a group. */
  readonly groups: Map<string, Counted>;
}

/** Versions that updates bring to one host, by package. */
export type Pending = ReadonlyMap<string, readonly string[]>;

interface Finding {
  readonly key: string;
  readonly first: Vulnerable;
  readonly all: readonly Vulnerable[];
}

interface Analysis {
  readonly findings: readonly Finding[];
  /** Names of vulnerable packages, sorted. */
  readonly names: readonly string[];
  readonly isKnown: boolean;
  readonly unknown: readonly Subject[];
}

interface Kind {
  readonly image: Image;
  readonly pending: Pending;
  readonly groups: Map<string, number>;
}

/** Adds up hosts. Those that have the same packages and the same updates of vulnerable ones are judged once. */
export function createTally(judgements: Judgements, { most = VULNERABILITIES_MAX } = {}) {
  const sums = new Map<string, Sum>();
  const coverage = new Map<string, { hosts: number; unknown: number }>();
  const wanted = new Map<string, { subject: Subject; hosts: number }>();
  const leftOut = new Set<string>();
  const ofPackage = new Map<Installed, ReturnType<typeof vulnerableOf>>();
  const ofImage = new Map<Image, Analysis>();
  let kinds = new Map<Image, Map<string, Kind>>();
  let kindCount = 0;

  /** Counts one host with all of its images. */
  function add(host: { group: string; images: readonly Image[]; pending: Pending; isWhole: boolean }): void {
    const { group, images, pending, isWhole } = host;
    let isKnown = isWhole && images.length > 0;
    for (const image of images) {
      const { names, isKnown: isImageKnown } = analysisOf(image);
      isKnown &&= isImageKnown;
      const own = names.flatMap((name) => {
        const versions = pending.get(placeOf(image.ecosystem, name));
        return versions ? [[name, versions] as const] : [];
      });
      const signature = JSON.stringify(own);
      const ofThis = kinds.get(image) ?? new Map<string, Kind>();
      kinds.set(image, ofThis);
      const kind = ofThis.get(signature) ?? {
        image,
        pending: new Map(own),
        groups: new Map<string, number>(),
      };
      if (!ofThis.has(signature)) kindCount += 1;
      ofThis.set(signature, kind);
      kind.groups.set(group, (kind.groups.get(group) ?? 0) + 1);
    }
    const covered = coverage.get(group) ?? { hosts: 0, unknown: 0 };
    coverage.set(group, { hosts: covered.hosts + 1, unknown: covered.unknown + (isKnown ? 0 : 1) });
    if (kindCount >= KINDS_MAX) countKinds();
  }

  function countKinds(): void {
    for (const ofThis of kinds.values()) for (const kind of ofThis.values()) countKind(kind);
    kinds = new Map();
    kindCount = 0;
    ofImage.clear();
  }

  function countKind({ image, pending, groups }: Kind): void {
    const { findings, unknown } = analysisOf(image);
    const total = groups.values().reduce((sum, hosts) => sum + hosts, 0);
    for (const subject of unknown) {
      const key = subjectKey(subject);
      wanted.set(key, { subject, hosts: (wanted.get(key)?.hosts ?? 0) + total });
    }
    for (const { key, first, all } of findings) {
      const sum = sums.get(key) ?? newSum(key, image, first);
      if (sum === null) continue;
      for (const { installed, subject } of all) {
        if (sum.packages.size < NAMES_MAX) sum.packages.add(installed.package.name);
        if (sum.subjects.size < VERSIONS_MAX) sum.subjects.set(subjectKey(subject), subject);
      }
      const isFixed = all.every((one) =>
        (pending.get(one.installed.package.name) ?? []).some((version) =>
          isFixedBy(one, version, judgements),
        ),
      );
      for (const [group, hosts] of groups) {
        const own = sum.groups.get(group) ?? { hosts: 0, pending: 0 };
        sum.groups.set(group, own);
        for (const counted of [sum, own]) {
          if (isFixed) counted.pending += hosts;
          else counted.hosts += hosts;
        }
      }
    }
  }

  function newSum(key: string, { ecosystem }: Image, { id }: Vulnerable): Sum | null {
    if (sums.size >= most) {
      if (leftOut.size < most) leftOut.add(key);
      return null;
    }
    const maps = { subjects: new Map<string, Subject>(), packages: new Set<string>(), groups: new Map() };
    const sum = { id, key, ecosystem, ...maps, hosts: 0, pending: 0 };
    sums.set(key, sum);
    return sum;
  }

  function analysisOf(image: Image): Analysis {
    const known = ofImage.get(image);
    if (known) return known;
    const all = image.packages.map((installed) => {
      const found = ofPackage.get(installed) ?? vulnerableOf(installed, judgements);
      ofPackage.set(installed, found);
      return found;
    });
    const vulnerable = all.flatMap((one) => one.vulnerable);
    const byKey = Map.groupBy(vulnerable, ({ subject, id }) => keyOf({ subject, id }));
    const findings = [...byKey].flatMap(([key, some]) => {
      const [first] = some;
      return first ? [{ key, first, all: some }] : [];
    });
    const analysis = {
      findings,
      names: [...new Set(vulnerable.map(({ installed }) => installed.package.name))].sort(),
      isKnown: all.every((one) => one.isKnown),
      unknown: all.flatMap((one) => one.unknown),
    };
    ofImage.set(image, analysis);
    return analysis;
  }

  return {
    add,
    /** The result, once every host is counted. */
    end() {
      countKinds();
      return { sums, coverage, leftOut: leftOut.size, wanted: [...wanted.values()] };
    },
  };
}

export function keyOf({ subject, id }: { subject: Subject; id: string }): string {
  return `${subject.ecosystem}\n${subject.name}\n${id}`;
}

export function placeOf(ecosystem: string, name: string): string {
  return `${ecosystem}\n${name}`;
}
