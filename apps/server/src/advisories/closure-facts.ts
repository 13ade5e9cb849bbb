import type { Ecosystem } from '@tidegate/protocol/scalars';
import { worstSeverity } from '../updates/queue-rules.ts';
import type { Basis } from './basis-rules.ts';
import type { ClosurePackage } from './closure-packages.ts';
import type { Exploited } from './exploited/store.ts';
import { type AdvisoryDetails, advisoryDetails, fixedIn } from './finding-details.ts';
import { isFresh } from './freshness.ts';
import { type RecordIds, type Told, toldBy, vulnerabilitiesBy } from './same-vulnerability.ts';
import type { Check } from './store.ts';
import { type Subject, type SubjectsOf, subjectKey } from './subjects.ts';
import { sharedWord, type VendorWord, vendorWord } from './vendor-word.ts';

export type VulnerabilityVerdict = 'clear' | 'vulnerable' | 'unchecked';
export type UncheckedReason = 'unreachable' | 'undecidable' | 'uncovered';

/** One known vulnerability of a version that the update installs. */
export interface Finding {
  readonly package: string;
  readonly version: string;
  readonly id: string;
  readonly aliases: readonly string[];
  readonly severity: string | null;
  readonly summary: string;
  readonly fixedIn: string | null;
  readonly inClosure: 'top' | 'dependency';
  readonly change: 'introduced' | 'still_present';
  readonly malicious: boolean;
  /** Ids by which a statement may name it; its own alone if absent. */
  readonly names?: readonly string[];
  /** What the distribution says about it. */
  readonly vendor?: VendorWord | null;
  /** Known to be exploited, absent when it could not be looked up; and the probability of exploitation. */
  readonly kev?: boolean;
  readonly epss?: number | null;
}

/** A known vulnerability of a version on the host that the version after the update does not have. */
export interface Fix extends Pick<Finding, 'package' | 'id' | 'kev' | 'epss'> {
  /** The version on the host. Older records of decisions have only the id and the package. */
  readonly version?: string;
  readonly aliases?: readonly string[];
  readonly severity?: string | null;
  readonly summary?: string;
}

export interface ClosureFacts {
  /** The worst of all packages: vulnerable, else unchecked, else clear. */
  readonly verdict: VulnerabilityVerdict;
  /** Why packages could not be checked, the worst reason first; may also be set with `vulnerable`. */
  readonly unchecked: UncheckedReason | null;
  readonly findings: readonly Finding[];
  readonly fixed: readonly Fix[];
  /** Whether every package was checked, after and before, so that `fixed` misses nothing; records omit it. */
  readonly isFixedComplete?: boolean;
  /** Number of subjects without a fresh check: in the state after the update, and in the present one. */
  readonly missing: { readonly after: number; readonly before: number };
  /** Time of the oldest check that the verdict rests on. */
  readonly checkedAtMs: number | null;
  readonly source: string | null;
  readonly snapshot: string | null;
  /** What the feeds say about everything it fixes or introduces. The gate ignores it, and records omit it. */
  readonly exploitation?: Exploitation;
  /** Compared again when the decision is written; records omit it. */
  readonly basis?: Basis;
}

/** The strongest evidence over a closure; `isComplete` if no vulnerability can be missing. */
export interface Exploitation extends Exploited {
  readonly isComplete: boolean;
}

/** One package of a closure, judged separately. */
export interface JudgedPackage {
  readonly after: Side;
  readonly before: Side | null;
  readonly findings: readonly Finding[];
  readonly fixed: readonly Fix[];
  readonly evidence: readonly Exploitation[];
}

/** Judges packages from stored checks alone. */
export function createPackageJudge(args: {
  ecosystem: Ecosystem;
  checks: ReadonlyMap<string, Check>;
  /** Text of the stored records, by id. */
  records: ReadonlyMap<string, string>;
  /** Feed entries, by CVE. */
  exploited?: ReadonlyMap<string, Exploited>;
  /** Whether the list of exploited vulnerabilities says of what it does not name that it is not exploited. */
  isKevKnown?: boolean;
  nowMs: number;
  maxAgeMs: number;
}): (one: ClosurePackage) => JudgedPackage {
  const { ecosystem, checks, records, exploited = NO_FEEDS, isKevKnown = false, nowMs, maxAgeMs } = args;
  const details = new Map<string, AdvisoryDetails>();
  function detailsOf(id: string): AdvisoryDetails {
    const known = details.get(id) ?? advisoryDetails(id, records.get(id) ?? null);
    details.set(id, known);
    return known;
  }
  const joins = new Map<string, Joined>();
  return (one) => {
    const after = sideOf(one.after, { checks, nowMs, maxAgeMs });
    const before = one.before && sideOf(one.before, { checks, nowMs, maxAgeMs });
    // The packages of one source have the same records: those of a kernel are thousands.
    const key = JSON.stringify([one.after.subjects, one.before?.subjects]);
    const joined = joins.get(key) ?? join({ after, before, detailsOf });
    joins.set(key, joined);
    const of = { ecosystem, one, after, before, joined, detailsOf, exploited, isKevKnown };
    return { after, before, ...compare(of) };
  };
}

/** Combines the verdicts of all packages into the closure's. */
export function closureFacts(
  judged: readonly JudgedPackage[],
  { nowMs }: { readonly nowMs: number },
): ClosureFacts {
  const used = judged.flatMap(({ after }) => after.used);
  const findings = judged.flatMap((each) => each.findings).toSorted(byWeight);
  const unchecked = worstReason(judged.flatMap(({ after }) => after.reasons));
  const isVulnerable = judged.some(({ after }) => after.ids.size > 0);
  return {
    verdict: isVulnerable ? 'vulnerable' : unchecked ? 'unchecked' : 'clear',
    unchecked,
    findings,
    fixed: judged.flatMap((each) => each.fixed).toSorted((a, b) => byFeeds(a, b) || (a.id < b.id ? -1 : 1)),
    isFixedComplete: judged.every(({ after, before }) => isKnown(after) && isKnown(before)),
    missing: {
      after: judged.reduce((sum, { after }) => sum + after.missing, 0),
      before: judged.reduce((sum, { before }) => sum + (before?.missing ?? 0), 0),
    },
    checkedAtMs: used.length > 0 ? used.reduce((oldest, c) => Math.min(oldest, c.checkedAtMs), nowMs) : null,
    source: used[0]?.source ?? null,
    snapshot: used[0]?.snapshot ?? null,
    exploitation: strongest(judged.flatMap((each) => each.evidence)),
  };
}

function strongest(evidence: readonly Exploitation[]): Exploitation {
  const scores = evidence.flatMap(({ epss }) => epss ?? []);
  return {
    kev: evidence.some(({ kev }) => kev),
    epss: scores.length > 0 ? Math.max(...scores) : null,
    isComplete: evidence.every(({ isComplete }) => isComplete),
  };
}

interface Side {
  /** Ids, each with the subject that has it. */
  readonly ids: ReadonlyMap<string, Subject>;
  readonly reasons: readonly UncheckedReason[];
  readonly used: readonly Check[];
  readonly missing: number;
}

function sideOf(
  { subjects, reason }: SubjectsOf,
  { checks, nowMs, maxAgeMs }: { checks: ReadonlyMap<string, Check>; nowMs: number; maxAgeMs: number },
): Side {
  const ids = new Map<string, Subject>();
  const reasons: UncheckedReason[] = reason ? [reason] : [];
  const used: Check[] = [];
  let missing = 0;
  for (const subject of subjects) {
    const check = checks.get(subjectKey(subject));
    const isUsable = isFresh(check, { nowMs, maxAgeMs });
    if (!isUsable) {
      missing += 1;
      reasons.push('unreachable');
    }
    // A known vulnerability stays known while the source cannot be queried again.
    if (check?.verdict === 'vulnerable') for (const id of check.ids) ids.set(id, subject);
    if (!check || !isUsable) continue;
    used.push(check);
    if (check.verdict === 'unchecked') reasons.push(check.reason ?? 'undecidable');
  }
  return { ids, reasons, used, missing };
}

/** Ids of one vulnerability. */
const IDS_MAX = 100;

const WORST_FIRST: readonly UncheckedReason[] = ['unreachable', 'undecidable', 'uncovered'];

function worstReason(reasons: readonly UncheckedReason[]): UncheckedReason | null {
  return WORST_FIRST.find((reason) => reasons.includes(reason)) ?? null;
}

/** The records of a package before and after, joined to vulnerabilities. */
interface Joined {
  readonly after: readonly Told[];
  /** Those of `after` that the host is known to have already. */
  readonly had: ReadonlySet<Told>;
  /** What the version before has and the one after has not, by record and joined. */
  readonly goneRecords: readonly string[];
  readonly gone: readonly Told[];
}

function join({
  after,
  before,
  detailsOf,
}: {
  after: Side;
  before: Side | null;
  detailsOf: (id: string) => AdvisoryDetails;
}): Joined {
  const isThere = [...after.ids.keys()];
  const wasThere = [...(before?.ids.keys() ?? [])];
  const all = new Set([...isThere, ...wasThere]);
  const ids = new Map(
    [...all].map((id): [string, RecordIds] => {
      const { about, names } = detailsOf(id);
      return [id, { cves: about, names }];
    }),
  );
  const vulnerabilityOf = vulnerabilitiesBy(ids);
  const namesOf = (id: string) => [id, ...detailsOf(id).aliases, vulnerabilityOf(id)];
  const had = new Set(wasThere.flatMap(namesOf));
  const has = new Set(isThere.flatMap(namesOf));
  const told = toldBy(isThere, { known: isThere, ids, vulnerabilityOf });
  const goneRecords = wasThere.filter((id) => !namesOf(id).some((name) => has.has(name)));
  return {
    after: told,
    had: new Set(told.filter(({ records }) => records.flatMap(namesOf).some((name) => had.has(name)))),
    goneRecords,
    gone: toldBy(goneRecords, { known: all, ids, vulnerabilityOf }),
  };
}

/**
 * Compares one package before and after. What the host is not known to have counts as introduced: an unchecked present
 * version must not make a new vulnerability look old.
 */
function compare(args: {
  ecosystem: Ecosystem;
  one: ClosurePackage;
  after: Side;
  before: Side | null;
  joined: Joined;
  detailsOf: (id: string) => AdvisoryDetails;
  exploited: ReadonlyMap<string, Exploited>;
  isKevKnown: boolean;
}): { findings: Finding[]; fixed: Fix[]; evidence: Exploitation[] } {
  const { ecosystem, one, after, before, joined, detailsOf, exploited, isKevKnown } = args;
  const findings = joined.after.map((told): Finding => {
    // What excuses must hold for every record that is shown as this one, what aggravates for one of them.
    const records = [...told.records, ...told.within].flatMap((id) => {
      const subject = after.ids.get(id);
      return subject ? [{ details: detailsOf(id), subject }] : [];
    });
    const fixes = records.map(({ details, subject }) => fixedIn(details.record, ecosystem, subject));
    return {
      ...{ package: one.name, version: one.version },
      ...shownOf(told, { detailsOf, exploited, isKevKnown }),
      fixedIn: fixes.find((version) => version !== null) ?? null,
      inClosure: one.isTop ? 'top' : 'dependency',
      change: joined.had.has(told) ? 'still_present' : 'introduced',
      malicious: records.some(({ details }) => details.malicious),
      names: distinct(told.records.flatMap((id) => detailsOf(id).names)),
      vendor: sharedWord(records.map(({ details, subject }) => vendorWord(details.record, subject))),
    };
  });
  // "Fixed" needs the state after the update to be fully checked.
  const isAfterKnown = isKnown(after);
  const isComplete = isAfterKnown && isKnown(before);
  const touched = [...after.ids.keys(), ...(isAfterKnown ? joined.goneRecords : [])].map(detailsOf);
  const evidence = touched.map(({ cves, record }) => ({
    ...worstOf(cves, exploited),
    isComplete: record !== null,
  }));
  const fixed = (isAfterKnown ? joined.gone : []).map((told) => ({
    ...{ package: one.name, version: before?.ids.get(told.records[0])?.version ?? '' },
    ...shownOf(told, { detailsOf, exploited, isKevKnown }),
  }));
  return { findings, fixed, evidence: [...evidence, { kev: false, epss: null, isComplete }] };
}

/** What all records of a vulnerability say of it, under the id of the first. */
function shownOf(
  { records, within }: Told,
  of: {
    detailsOf: (id: string) => AdvisoryDetails;
    exploited: ReadonlyMap<string, Exploited>;
    isKevKnown: boolean;
  },
): Pick<Finding, 'id' | 'aliases' | 'severity' | 'summary' | 'kev' | 'epss'> {
  const [id] = records;
  const details = records.map(of.detailsOf);
  const others = [...details.flatMap(({ aliases, names }) => [...aliases, ...names]), ...records, ...within];
  const { kev, epss } = worstOf(
    details.flatMap(({ cves }) => cves),
    of.exploited,
  );
  const isKevComplete = of.isKevKnown && details.every(({ record }) => record !== null);
  const severitiesOf = (some: readonly AdvisoryDetails[]) => some.flatMap(({ severity }) => severity ?? []);
  // The severity of an advisory about several may be that of another one: it counts where nothing else is known.
  const severity =
    worstSeverity(severitiesOf(details)) ?? worstSeverity(severitiesOf(within.map(of.detailsOf)));
  return {
    ...{ id, aliases: distinct(others).filter((one) => one !== id) },
    ...{ severity, summary: details.find((one) => one.summary)?.summary ?? '' },
    ...(kev || isKevComplete ? { kev } : {}),
    epss,
  };
}

function distinct(ids: readonly string[]): string[] {
  return [...new Set(ids)].slice(0, IDS_MAX);
}

/** A package that is not on the host has nothing that could be unknown. */
function isKnown(side: Side | null): boolean {
  return (side?.reasons.length ?? 0) === 0;
}

const NO_FEEDS: ReadonlyMap<string, Exploited> = new Map();

function worstOf(cves: readonly string[], exploited: ReadonlyMap<string, Exploited>): Exploited {
  const known = cves.flatMap((cve) => exploited.get(cve) ?? []);
  const scores = known.flatMap(({ epss }) => epss ?? []);
  return { kev: known.some(({ kev }) => kev), epss: scores.length > 0 ? Math.max(...scores) : null };
}

/** Malicious packages first, then new findings, then the top-level package; within these, exploited ones first. */
function byWeight(a: Finding, b: Finding): number {
  return weight(b) - weight(a) || byFeeds(a, b) || (a.id < b.id ? -1 : 1);
}

function byFeeds(a: Exploitable, b: Exploitable): number {
  return Number(b.kev ?? false) - Number(a.kev ?? false) || (b.epss ?? -1) - (a.epss ?? -1);
}

type Exploitable = Pick<Finding, 'kev' | 'epss'>;

function weight({ malicious, change, inClosure }: Finding): number {
  return (malicious ? 4 : 0) + (change === 'introduced' ? 2 : 0) + (inClosure === 'top' ? 1 : 0);
}
