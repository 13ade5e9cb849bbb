import type { Subject } from '../advisories/subjects.ts';
import { subjectKey } from '../advisories/subjects.ts';
import { compareText } from '../platform/compare-text.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Image } from './image-cache.ts';
import type { RowName, RowsOf } from './shared-rows.ts';
import {
  type Installed,
  isFixedBy,
  type Judgements,
  placeOf,
  type Vulnerable,
  vulnerableOf,
} from './unfixed-rules.ts';

/** Vulnerabilities that are counted; those of the last hosts beyond it are left out, and the page says so. */
const VULNERABILITIES_MAX = 50_000;
/** Installed packages that a vulnerability names: those of the kernel's source are many. */
const NAMES_MAX = 100;
/** Distinct installed versions of a vulnerability's package whose fix is looked up. */
const VERSIONS_MAX = 20;
/**
 * Of one host and package manager, vulnerabilities times the packages that have them. An honest host with many old kernels has a
 * third of it. Packages beyond it are not judged, so that the host is not known whole.
 */
const FINDINGS_MAX = 250_000;
/** The same, questions whether an offered version fixes a finding: beyond it none fixes any. */
const LOOKS_MAX = 500_000;
/** Kinds of hosts that wait to be counted together. */
const KINDS_MAX = 20_000;

export interface Counted {
  hosts: number;
  /** Hosts whose pending updates are judged to fix it; not in `hosts`. */
  pending: number;
}

/** What hosts have of what one record says of one source. */
export interface Sum {
  readonly id: string;
  readonly key: string;
  readonly ecosystem: Image['ecosystem'];
  readonly subjects: Map<string, Subject>;
  /** Names, those that most hosts have first. */
  readonly packages: Set<string>;
}

/** How many hosts have one vulnerability of one source, whichever records tell of it. */
export interface RowSum extends Counted, RowName {
  readonly key: string;
  readonly ecosystem: Image['ecosystem'];
  /** Of each record that tells of it. */
  readonly sums: Set<Sum>;
  /** The empty name is that of hosts without a group. */
  readonly groups: Map<string, Counted>;
}

/** A version that an update brings to one host. */
export interface Offer {
  readonly version: string;
  /** Whether nothing but an approval is missing. */
  readonly isApprovable: boolean;
}

/** What updates bring to one host, by package. */
export type Pending = ReadonlyMap<string, readonly Offer[]>;

/** How many hosts have one vulnerability, whatever packages it is in; every host counts once. */
export interface VulnerabilitySum extends VulnerabilityCounts {
  readonly id: string;
  /** Ids of the records that tell of it. */
  readonly advisories: Set<string>;
  /** Keys of `sums`. */
  readonly keys: Set<string>;
  /** Subjects that have it, each with the versions that are judged to fix it. */
  readonly fixes: Map<string, Set<string>>;
  readonly groups: Map<string, VulnerabilityCounts>;
}

interface VulnerabilityCounts {
  hosts: number;
  fixable: number;
  waiting: number;
}

/** Names of packages and subjects that hosts have of a sum, and how many have each. */
interface Seen {
  readonly names: Map<string, number>;
  readonly subjects: Map<string, { readonly subject: Subject; readonly hosts: number }>;
}

interface Finding {
  readonly key: string;
  readonly first: Vulnerable;
  readonly all: readonly Vulnerable[];
  /** The rows of the list that it counts in, by their keys. */
  readonly rows: readonly (readonly [key: string, name: RowName])[];
}

interface Analysis {
  readonly findings: readonly Finding[];
  /** Names of vulnerable packages, sorted. */
  readonly names: readonly string[];
  readonly isKnown: boolean;
  readonly unknown: readonly Subject[];
}

interface Kind {
  readonly number: number;
  readonly image: Image;
  readonly pending: Pending;
  readonly groups: Map<string, number>;
  /** By vulnerability; known once the kind is counted. */
  outcomes: ReadonlyMap<string, Outcome>;
}

interface Outcome {
  readonly isFixed: boolean;
  readonly isApprovable: boolean;
}

/** Hosts of several kinds, one for each package manager. */
interface Mixture {
  readonly kinds: readonly Kind[];
  readonly groups: Map<string, number>;
}

/**
 * Adds up hosts. Those that have the same packages and the same updates of vulnerable ones are judged once.
 * `vulnerabilitiesOf` names what an advisory is about, `rowsOf` the rows of the list that it counts in.
 */
export function createTally(
  judgements: Judgements,
  {
    vulnerabilitiesOf,
    rowsOf,
  }: { vulnerabilitiesOf: (advisory: string) => readonly string[]; rowsOf: RowsOf },
  { most = VULNERABILITIES_MAX, findingsMax = FINDINGS_MAX, looksMax = LOOKS_MAX } = {},
) {
  const sums = new Map<string, Sum>();
  const seen = new Map<Sum, Seen>();
  const rows = new Map<string, RowSum>();
  const vulnerabilities = new Map<string, VulnerabilitySum>();
  const affected = new Map<string, Set<Installed>>();
  let mixtures = new Map<string, Mixture>();
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
    const own: Kind[] = [];
    for (const image of images) {
      const { names, isKnown: isImageKnown } = analysisOf(image);
      isKnown &&= isImageKnown;
      const offered = names.flatMap((name) => {
        const offers = pending.get(placeOf(image.ecosystem, name));
        return offers ? [[name, offers] as const] : [];
      });
      const signature = JSON.stringify(offered);
      const ofThis = kinds.get(image) ?? new Map<string, Kind>();
      kinds.set(image, ofThis);
      const kind = ofThis.get(signature) ?? {
        ...{ number: kindCount, image, pending: new Map(offered) },
        ...{ groups: new Map<string, number>(), outcomes: new Map() },
      };
      if (!ofThis.has(signature)) kindCount += 1;
      ofThis.set(signature, kind);
      kind.groups.set(group, (kind.groups.get(group) ?? 0) + 1);
      own.push(kind);
    }
    const numbers = own.map(({ number }) => number).join();
    const mixture = mixtures.get(numbers) ?? { kinds: own, groups: new Map<string, number>() };
    mixtures.set(numbers, mixture);
    mixture.groups.set(group, (mixture.groups.get(group) ?? 0) + 1);
    const covered = coverage.get(group) ?? { hosts: 0, unknown: 0 };
    coverage.set(group, { hosts: covered.hosts + 1, unknown: covered.unknown + (isKnown ? 0 : 1) });
    if (kindCount >= KINDS_MAX || mixtures.size >= KINDS_MAX) countKinds();
  }

  function countKinds(): void {
    for (const ofThis of kinds.values()) for (const kind of ofThis.values()) countKind(kind);
    for (const mixture of mixtures.values()) countMixture(mixture);
    kinds = new Map();
    mixtures = new Map();
    kindCount = 0;
    ofImage.clear();
  }

  function countKind(kind: Kind): void {
    const { image, pending, groups } = kind;
    const outcomes = new Map<string, Outcome>();
    kind.outcomes = outcomes;
    const { findings, unknown } = analysisOf(image);
    const total = groups.values().reduce((sum, hosts) => sum + hosts, 0);
    const fixedRows = new Map<RowSum, boolean>();
    let looks = 0;
    const fixingOf = (one: Vulnerable): readonly Offer[] => {
      const offers = pending.get(one.installed.package.name) ?? [];
      looks += offers.length;
      return looks > looksMax ? [] : offers.filter(({ version }) => isFixedBy(one, version, judgements));
    };
    for (const subject of unknown) {
      const key = subjectKey(subject);
      wanted.set(key, { subject, hosts: (wanted.get(key)?.hosts ?? 0) + total });
    }
    for (const { key, first, all, rows: ownRows } of findings) {
      const sum = sums.get(key) ?? newSum(key, image, first);
      if (sum === null) continue;
      noteSeen(sum, { all, hosts: total });
      const fixing = all.map((one) => ({ subject: subjectKey(one.subject), offers: fixingOf(one) }));
      const isFixed = fixing.every(({ offers }) => offers.length > 0);
      const isApprovable = fixing.every(({ offers }) => offers.some((offer) => offer.isApprovable));
      for (const id of vulnerabilitiesOf(first.id)) {
        const before = outcomes.get(id) ?? { isFixed: true, isApprovable: true };
        outcomes.set(id, {
          isFixed: before.isFixed && isFixed,
          isApprovable: before.isApprovable && isApprovable,
        });
        const vulnerability = vulnerabilities.get(id) ?? newVulnerability(id);
        if (vulnerability === null) continue;
        vulnerability.advisories.add(first.id);
        vulnerability.keys.add(key);
        for (const { subject, offers } of fixing) {
          const versions = vulnerability.fixes.get(subject) ?? new Set();
          vulnerability.fixes.set(subject, versions);
          for (const { version } of offers) versions.add(version);
        }
      }
      for (const [rowKey, name] of ownRows) {
        const row = rows.get(rowKey) ?? newRow(rowKey, image, name);
        if (row === null) continue;
        row.sums.add(sum);
        fixedRows.set(row, isFixed && (fixedRows.get(row) ?? true));
      }
    }
    for (const [row, isFixed] of fixedRows) countRow(row, { groups, isFixed });
  }

  function noteSeen(sum: Sum, { all, hosts }: { all: readonly Vulnerable[]; hosts: number }): void {
    const { names, subjects } = seen.get(sum) ?? { names: new Map(), subjects: new Map() };
    seen.set(sum, { names, subjects });
    for (const name of new Set(all.map((one) => one.installed.package.name)))
      names.set(name, (names.get(name) ?? 0) + hosts);
    for (const [key, subject] of new Map(all.map((one) => [subjectKey(one.subject), one.subject])))
      subjects.set(key, { subject, hosts: (subjects.get(key)?.hosts ?? 0) + hosts });
  }

  /** Those of most hosts: the names and versions that one host makes up leave no others out. */
  function keepSeen(): void {
    for (const [sum, { names, subjects }] of seen) {
      for (const [name] of mostOf([...names], NAMES_MAX, ([, hosts]) => hosts)) sum.packages.add(name);
      for (const [key, { subject }] of mostOf([...subjects], VERSIONS_MAX, ([, one]) => one.hosts))
        sum.subjects.set(key, subject);
    }
  }

  function countRow(row: RowSum, { groups, isFixed }: Pick<Kind, 'groups'> & { isFixed: boolean }): void {
    for (const [group, hosts] of groups) {
      const own = row.groups.get(group) ?? { hosts: 0, pending: 0 };
      row.groups.set(group, own);
      for (const counted of [row, own]) {
        if (isFixed) counted.pending += hosts;
        else counted.hosts += hosts;
      }
    }
  }

  function countMixture({ kinds: own, groups }: Mixture): void {
    const ids = new Set(own.flatMap(({ outcomes }) => [...outcomes.keys()]));
    for (const id of ids) {
      const vulnerability = vulnerabilities.get(id);
      if (!vulnerability) continue;
      const outcomes = own.flatMap((kind) => kind.outcomes.get(id) ?? []);
      const isFixed = outcomes.every((one) => one.isFixed);
      const isApprovable = outcomes.every((one) => one.isApprovable);
      for (const [group, hosts] of groups) {
        const ofGroup = vulnerability.groups.get(group) ?? { hosts: 0, fixable: 0, waiting: 0 };
        vulnerability.groups.set(group, ofGroup);
        for (const counted of [vulnerability, ofGroup]) {
          counted.hosts += hosts;
          if (isApprovable) counted.fixable += hosts;
          else if (isFixed) counted.waiting += hosts;
        }
      }
    }
  }

  function newVulnerability(id: string): VulnerabilitySum | null {
    if (vulnerabilities.size >= most) {
      if (leftOut.size < most) leftOut.add(id);
      return null;
    }
    const sets = { advisories: new Set<string>(), keys: new Set<string>() };
    const maps = { fixes: new Map<string, Set<string>>(), groups: new Map<string, VulnerabilityCounts>() };
    const vulnerability = { id, ...sets, ...maps, hosts: 0, fixable: 0, waiting: 0 };
    vulnerabilities.set(id, vulnerability);
    return vulnerability;
  }

  function newSum(key: string, { ecosystem }: Image, { id }: Vulnerable): Sum | null {
    if (sums.size >= most) {
      if (leftOut.size < most) leftOut.add(key);
      return null;
    }
    const sum = { id, key, ecosystem, subjects: new Map<string, Subject>(), packages: new Set<string>() };
    sums.set(key, sum);
    return sum;
  }

  function newRow(key: string, { ecosystem }: Image, name: RowName): RowSum | null {
    if (rows.size >= most) {
      if (leftOut.size < most) leftOut.add(key);
      return null;
    }
    const row = { ...name, key, ecosystem, sums: new Set<Sum>(), groups: new Map(), hosts: 0, pending: 0 };
    rows.set(key, row);
    return row;
  }

  function countFindings({ subjects }: Installed): number {
    return subjects.reduce((sum, one) => sum + (judgements.get(subjectKey(one))?.ids.length ?? 0), 0);
  }

  function analysisOf(image: Image): Analysis {
    const known = ofImage.get(image);
    if (known) return known;
    const all: ReturnType<typeof vulnerableOf>[] = [];
    let counted = 0;
    for (const installed of image.packages) {
      const before = ofPackage.get(installed);
      const more = before?.vulnerable.length ?? countFindings(installed);
      if (counted + more > findingsMax) continue;
      counted += more;
      const found = before ?? vulnerableOf(installed, judgements);
      ofPackage.set(installed, found);
      for (const { subject } of found.vulnerable) {
        const own = affected.get(subjectKey(subject)) ?? new Set();
        affected.set(subjectKey(subject), own.add(installed));
      }
      all.push(found);
    }
    const vulnerable = all.flatMap((one) => one.vulnerable);
    const byKey = Map.groupBy(vulnerable, ({ subject, id }) => keyOf({ subject, id }));
    const findings = [...byKey].flatMap(([key, some]) => {
      const [first] = some;
      if (!first) return [];
      const own = rowsOf(first.subject, first.id).map(
        (name) => [keyOf({ subject: first.subject, id: name.record }), name] as const,
      );
      return [{ key, first, all: some, rows: own }];
    });
    const analysis = {
      findings,
      names: [...new Set(vulnerable.map(({ installed }) => installed.package.name))].sort(),
      isKnown: image.isWhole && all.length === image.packages.length && all.every((one) => one.isKnown),
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
      keepSeen();
      return {
        ...{ rows, coverage, leftOut: leftOut.size, wanted: [...wanted.values()] },
        index: { vulnerabilities, affected, sums, unjudged: unjudgedOf(ofPackage) },
      };
    },
  };
}

/** What the index of vulnerabilities is written from. */
export interface Counts {
  readonly vulnerabilities: ReadonlyMap<string, VulnerabilitySum>;
  /** Packages that have any vulnerability, by `subjectKey`. */
  readonly affected: ReadonlyMap<string, ReadonlySet<Installed>>;
  readonly sums: ReadonlyMap<string, Sum>;
  readonly unjudged: readonly Tables['unjudged_packages'][];
}

/** How many kinds of packages are not judged, by ecosystem, system and reason. */
function unjudgedOf(all: ReadonlyMap<Installed, { readonly isKnown: boolean }>): Counts['unjudged'] {
  const found = new Map<string, Tables['unjudged_packages']>();
  for (const [{ ecosystem, system, subjects }, { isKnown }] of all) {
    if (isKnown) continue;
    const of = { ecosystem, os: `${system.id} ${system.versionId}` };
    const reason = subjects.length === 0 ? ('cannot' as const) : ('not_yet' as const);
    const key = JSON.stringify([of, reason]);
    found.set(key, { ...of, reason, packages: (found.get(key)?.packages ?? 0) + 1 });
  }
  return [...found.values()];
}

export function keyOf({ subject, id }: { subject: Subject; id: string }): string {
  return `${placeOf(subject.ecosystem, subject.name)}\n${id}`;
}

/** The same ones in each pass, in whatever order hosts and packages are read. */
function mostOf<T extends readonly [key: string, unknown]>(
  items: readonly T[],
  most: number,
  hostsOf: (item: T) => number,
): readonly T[] {
  return items.toSorted((a, b) => hostsOf(b) - hostsOf(a) || compareText(a[0], b[0])).slice(0, most);
}
