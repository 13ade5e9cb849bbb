import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Basis } from './basis-rules.ts';
import type { ClosurePackage } from './closure-packages.ts';
import type { Exploited } from './exploited/store.ts';
import { type AdvisoryDetails, advisoryDetails, fixedIn } from './finding-details.ts';
import { isFresh } from './freshness.ts';
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
  return (one) => {
    const after = sideOf(one.after, { checks, nowMs, maxAgeMs });
    const before = one.before && sideOf(one.before, { checks, nowMs, maxAgeMs });
    return { after, before, ...compare({ ecosystem, one, after, before, detailsOf, exploited, isKevKnown }) };
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

const WORST_FIRST: readonly UncheckedReason[] = ['unreachable', 'undecidable', 'uncovered'];

function worstReason(reasons: readonly UncheckedReason[]): UncheckedReason | null {
  return WORST_FIRST.find((reason) => reasons.includes(reason)) ?? null;
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
  detailsOf: (id: string) => AdvisoryDetails;
  exploited: ReadonlyMap<string, Exploited>;
  isKevKnown: boolean;
}): { findings: Finding[]; fixed: Fix[]; evidence: Exploitation[] } {
  const { ecosystem, one, after, before, detailsOf, exploited, isKevKnown } = args;
  const namesOf = (id: string) => [id, ...detailsOf(id).aliases];
  const had = new Set([...(before?.ids.keys() ?? [])].flatMap(namesOf));
  const has = new Set([...after.ids.keys()].flatMap(namesOf));
  const findings: Finding[] = [];
  const shown = new Set<string>();
  for (const [id, subject] of after.ids) {
    // GHSA and PYSEC describe the same vulnerability: one is shown, with the other among its aliases.
    if (shown.has(id)) continue;
    for (const name of namesOf(id)) shown.add(name);
    const { aliases, names, summary, severity, record } = detailsOf(id);
    // What excuses must hold for every record that is shown as this one, what aggravates for one of them.
    const joined = namesOf(id).flatMap((name) => {
      const found = after.ids.get(name);
      return found ? [{ details: detailsOf(name), subject: found }] : [];
    });
    const { kev, epss } = worstOf(
      joined.flatMap(({ details }) => details.cves),
      exploited,
    );
    const isKevComplete = isKevKnown && joined.every(({ details }) => details.record !== null);
    findings.push({
      package: one.name,
      version: one.version,
      id,
      aliases,
      severity,
      summary,
      fixedIn: fixedIn(record, ecosystem, subject),
      inClosure: one.isTop ? 'top' : 'dependency',
      change: namesOf(id).some((name) => had.has(name)) ? 'still_present' : 'introduced',
      malicious: joined.some(({ details }) => details.malicious),
      names,
      vendor: sharedWord(joined.map(({ details, subject: of }) => vendorWord(details.record, of))),
      ...(kev || isKevComplete ? { kev } : {}),
      epss,
    });
  }
  // "Fixed" needs the state after the update to be fully checked.
  const isAfterKnown = isKnown(after);
  const gone = [...(before?.ids.keys() ?? [])].filter((id) => !namesOf(id).some((name) => has.has(name)));
  const isComplete = isAfterKnown && isKnown(before);
  const touched = [...after.ids.keys(), ...(isAfterKnown ? gone : [])].map(detailsOf);
  const evidence = touched.map(({ cves, record }) => ({
    ...worstOf(cves, exploited),
    isComplete: record !== null,
  }));
  return {
    findings,
    fixed: isAfterKnown ? fixesOf({ one, before, gone, detailsOf, exploited, isKevKnown }) : [],
    evidence: [...evidence, { kev: false, epss: null, isComplete }],
  };
}

/** The vulnerabilities that are gone, each once: GHSA and PYSEC may describe the same one. */
function fixesOf(args: {
  one: ClosurePackage;
  before: Side | null;
  gone: readonly string[];
  detailsOf: (id: string) => AdvisoryDetails;
  exploited: ReadonlyMap<string, Exploited>;
  isKevKnown: boolean;
}): Fix[] {
  const { one, before, gone, detailsOf, exploited, isKevKnown } = args;
  const shown = new Set<string>();
  const fixes: Fix[] = [];
  for (const id of gone) {
    if (shown.has(id)) continue;
    const { aliases, cves, summary, severity, record } = detailsOf(id);
    for (const name of [id, ...aliases]) shown.add(name);
    const version = before?.ids.get(id)?.version ?? '';
    const { kev, epss } = worstOf(cves, exploited);
    const fix = { package: one.name, version, id, aliases, severity, summary, epss };
    fixes.push(kev || (isKevKnown && record !== null) ? { ...fix, kev } : fix);
  }
  return fixes;
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
