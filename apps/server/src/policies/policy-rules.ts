import type { PolicyMismatch, PolicyTerms } from '@tidegate/protocol/policies-api';
import { POLICY_SEVERITIES } from '@tidegate/protocol/policies-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { type Change, isWithin } from '@tidegate/versions/change';
import { globOfPackage, matchesGlob } from '@tidegate/versions/globs';
import { canonicalName } from '@tidegate/versions/names';

const HOUR_MS = 3_600_000;

/** What a policy asks of an update itself; its plan and its host are judged elsewhere. */
export interface PolicySubject {
  readonly ecosystem: Ecosystem;
  readonly name: string;
  /** To which it takes the package; absent: not known. */
  readonly version?: string | undefined;
  readonly origin: string | null;
  /** Whether the distribution calls it a security update. */
  readonly security: boolean;
  /** Severities of the known vulnerabilities of the package that the update fixes; null: not known. */
  readonly fixes: readonly (string | null)[] | null;
  /** npm and PyPI; null: not known, or another ecosystem. */
  readonly change: Change | null;
}

/** The first condition that an update does not meet; null if it meets all. A fact that is not known meets none. */
export function mismatchOf(terms: PolicyTerms, subject: PolicySubject): PolicyMismatch | null {
  return mismatchOfRow(terms, subject) ?? mismatchOfFixes(terms, subject);
}

/** The conditions that need no verdict. */
export function mismatchOfRow(
  terms: PolicyTerms,
  subject: Omit<PolicySubject, 'fixes' | 'security'>,
): PolicyMismatch | null {
  const { ecosystem, origin, change } = subject;
  if (terms.only && !terms.only.some((one) => isChosen(one, subject))) return 'not_chosen';
  if (!terms.ecosystems.includes(ecosystem)) return 'ecosystem';
  if (globOfPackage(terms.packages, subject) === undefined) return 'package';
  if (globOfPackage(terms.except_packages, subject) !== undefined) return 'excepted';
  if (terms.origins.length > 0) {
    if (origin === null || !terms.origins.some((glob) => matchesGlob(glob, origin))) return 'origin';
  }
  const hasChanges = ecosystem === 'npm' || ecosystem === 'pypi';
  if (hasChanges && !isWithin(terms.max_change, change)) return 'change';
  return null;
}

type Chosen = NonNullable<PolicyTerms['only']>[number];

function isChosen(one: Chosen, subject: Pick<PolicySubject, 'ecosystem' | 'name' | 'version'>): boolean {
  const { ecosystem, version } = subject;
  if (one.ecosystem !== ecosystem || one.version !== version) return false;
  return canonicalName(ecosystem, one.name) === canonicalName(ecosystem, subject.name);
}

function mismatchOfFixes(terms: PolicyTerms, { security, fixes }: PolicySubject): PolicyMismatch | null {
  if (terms.security_only && !security && (fixes ?? []).length === 0) return 'not_security';
  const { minimum_severity: least } = terms;
  if (least === null) return null;
  const enough: readonly string[] = POLICY_SEVERITIES.slice(POLICY_SEVERITIES.indexOf(least));
  return (fixes ?? []).some((severity) => severity !== null && enough.includes(severity)) ? null : 'severity';
}

/** A version that an update brings to its host, and since when it is known; null: not known. */
export interface BroughtVersion {
  readonly package: string;
  readonly version: string;
  readonly sinceMs: number | null;
}

/** The versions that are younger than the policy wants, or whose age is not known. A time in the future is none. */
export function tooYoung(
  { min_age_hours: hours }: Pick<PolicyTerms, 'min_age_hours'>,
  brought: readonly BroughtVersion[],
  nowMs: number,
): BroughtVersion[] {
  if (hours === null) return [];
  return brought.filter(({ sinceMs }) => sinceMs === null || nowMs - sinceMs < hours * HOUR_MS);
}
