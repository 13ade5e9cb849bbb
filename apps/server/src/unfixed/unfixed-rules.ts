import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { HostSystem } from '../advisories/ecosystem-strings.ts';
import { type PackageVersionOf, type Subject, subjectKey, subjectsOf } from '../advisories/subjects.ts';

/** What is judged of a package version: its vulnerabilities, and whether there may be more that nobody knows of. */
export interface Judgement {
  readonly ids: readonly string[];
  readonly isWhole: boolean;
}

/** By `subjectKey`. */
export type Judgements = ReadonlyMap<string, Judgement>;

/** A name within its ecosystem, or an ecosystem on its host. */
export function placeOf(outer: string, inner: string): string {
  return `${outer}\n${inner}`;
}

/** The ecosystem and name of a `subjectKey`, as `placeOf` them. */
export function placeOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('\n'));
}

export interface StoredCheck {
  readonly verdict: string;
  readonly reason: string | null;
  readonly ids: readonly string[];
  readonly checkedAtMs: number;
}

/**
 * A stored check as the board reads it. A vulnerability stays known however old the check is; that there is none is
 * known only from a fresh and complete one.
 */
export function judgementOf(check: StoredCheck, at: { nowMs: number; maxAgeMs: number }): Judgement {
  const ageMs = at.nowMs - check.checkedAtMs;
  const isFresh = ageMs >= -60_000 && ageMs < at.maxAgeMs;
  const isComplete = check.verdict !== 'unchecked' && check.reason === null;
  return { ids: check.ids, isWhole: isFresh && isComplete };
}

/** A package that is installed on hosts of one system. */
export interface Installed {
  readonly ecosystem: Ecosystem;
  readonly system: HostSystem;
  readonly package: PackageVersionOf;
  /** What vulnerability databases are asked about it; empty if they cannot be. */
  readonly subjects: readonly Subject[];
}

export function installedOf(ecosystem: Ecosystem, system: HostSystem, one: PackageVersionOf): Installed {
  return { ecosystem, system, package: one, subjects: subjectsOf(ecosystem, system, one).subjects };
}

/** A vulnerability of an installed package. */
export interface Vulnerable {
  readonly installed: Installed;
  readonly subject: Subject;
  readonly id: string;
}

/** The known vulnerabilities of a package, and what nobody has judged of it. */
export function vulnerableOf(
  installed: Installed,
  judgements: Judgements,
): { vulnerable: Vulnerable[]; unknown: Subject[]; isKnown: boolean } {
  const vulnerable: Vulnerable[] = [];
  const unknown: Subject[] = [];
  for (const subject of installed.subjects) {
    const judgement = judgements.get(subjectKey(subject));
    if (!judgement?.isWhole) unknown.push(subject);
    for (const id of judgement?.ids ?? []) vulnerable.push({ installed, subject, id });
  }
  return { vulnerable, unknown, isKnown: installed.subjects.length > 0 && unknown.length === 0 };
}

/** Whether an update to this version is judged to be free of the vulnerability: what is not judged fixes nothing. */
export function isFixedBy(
  { installed, subject, id }: Vulnerable,
  version: string,
  judgements: Judgements,
): boolean {
  const { ecosystem, system, package: one } = installed;
  if (!sourceFollows(ecosystem, one)) return false;
  const after = subjectsOf(ecosystem, system, movedTo(one, version)).subjects;
  const same = after.filter(({ name }) => name === subject.name);
  return (
    same.length > 0 &&
    same.every((target) => {
      const judgement = judgements.get(subjectKey(target));
      return judgement?.isWhole === true && !judgement.ids.includes(id);
    })
  );
}

/** `gcc` 4:12.2.0-3 is gcc-defaults 1.203: only where both versions are one does an update tell the new source's. */
function sourceFollows(ecosystem: Ecosystem, { version, sourceVersion }: PackageVersionOf): boolean {
  if (ecosystem === 'npm' || ecosystem === 'pypi') return true;
  return Boolean(sourceVersion) && sourceOf(version) === sourceOf(sourceVersion ?? '');
}

export function movedTo(one: PackageVersionOf, version: string): PackageVersionOf {
  return { ...one, version, sourceVersion: one.sourceVersion ? sourceOf(version) : one.sourceVersion };
}

/** Without the suffix of a rebuild: Debian's +b1 is no version of the source. */
function sourceOf(version: string): string {
  return version.replace(/\+b\d+$/, '');
}

/** 1 or 0; null where nobody can know: without a current list, the record or a CVE that the list could name. */
export function exploitedOf(facts: {
  cves: readonly string[];
  isListed: boolean;
  isListKnown: boolean;
  isRecordKnown: boolean;
}): 1 | 0 | null {
  if (facts.isListed) return 1;
  return facts.isListKnown && facts.isRecordKnown && facts.cves.length > 0 ? 0 : null;
}

/**
 * The vulnerabilities that an advisory is about: its CVEs; itself, where it names none; and where it names several itself as
 * well, so that it can be looked up as a whole.
 */
export function vulnerabilitiesOf(advisory: string, cves: readonly string[]): string[] {
  const distinct = [...new Set(cves)];
  return distinct.length === 1 ? distinct : [...distinct.filter((cve) => cve !== advisory), advisory];
}
