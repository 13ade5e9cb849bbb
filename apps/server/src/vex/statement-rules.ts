import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import type { Finding } from '../advisories/closure-facts.ts';

/** An operator's statement about a vulnerability (VEX), as far as the gate reads it. */
export interface StatementFact {
  readonly id: string;
  /** SHA-256 of its signed payload. */
  readonly sha256: string;
  readonly status: 'not_affected' | 'accepted';
  readonly vulnerability: string;
  readonly ecosystem: Ecosystem;
  readonly package: string;
  /** The `ID` of os-release; null for npm and PyPI. */
  readonly distribution: string | null;
  /** Exactly these; nothing else is covered. */
  readonly versions: readonly string[];
  readonly scope: StatementScope;
  readonly endsAtMs: number;
  readonly endedAtMs: number | null;
}

export type StatementScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'host'; readonly agent_id: string };

/** The host and the time for which a closure is judged. */
export interface StatementTarget {
  readonly ecosystem: Ecosystem;
  readonly agentId: string;
  readonly group: string | null;
  readonly distribution: string | null;
  readonly nowMs: number;
}

/** The statements that excuse one of these findings on this host now, in the order of the findings. */
export function statementsFor(
  findings: readonly Finding[],
  statements: readonly StatementFact[],
  target: StatementTarget,
): StatementFact[] {
  const inForce = statements.filter((statement) => isInForce(statement, target));
  const about = byVulnerability(inForce);
  return [...new Set(findings.flatMap((finding) => statementFor(finding, about, target.ecosystem) ?? []))];
}

/** Statements by the id that they name. */
export type StatementIndex = ReadonlyMap<string, readonly StatementFact[]>;

export function byVulnerability(statements: readonly StatementFact[]): StatementIndex {
  return Map.groupBy(statements, ({ vulnerability }) => vulnerability);
}

/** `not_affected` comes first: it says more. Of equal ones the oldest counts, so that a repetition changes nothing. */
export function statementFor(
  finding: Finding,
  statements: StatementIndex,
  ecosystem: Ecosystem,
): StatementFact | null {
  const [first] = (finding.names ?? [finding.id])
    .flatMap((name) => statements.get(name) ?? [])
    .filter((one) => isAbout(one, finding, ecosystem) && mayExcuse(one, finding))
    .toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
  return first ?? null;
}

function rank({ status }: StatementFact): number {
  return status === 'not_affected' ? 0 : 1;
}

/** Nobody excuses malicious code. A risk is accepted only where it stays and is known not to be exploited. */
function mayExcuse({ status }: StatementFact, { malicious, change, kev }: Finding): boolean {
  if (malicious) return false;
  switch (status) {
    case 'not_affected':
      return true;
    case 'accepted':
      return change === 'still_present' && kev === false;
  }
}

/** Exactly this version of exactly this package. */
function isAbout(statement: StatementFact, finding: Finding, ecosystem: Ecosystem): boolean {
  return (
    statement.ecosystem === ecosystem &&
    canonicalName(ecosystem, statement.package) === canonicalName(ecosystem, finding.package) &&
    statement.versions.includes(finding.version)
  );
}

export function isInForce(statement: StatementFact, target: StatementTarget): boolean {
  if (statement.endedAtMs !== null) return false;
  if (statement.endsAtMs <= target.nowMs) return false;
  // `zlib1g` of Debian and of Ubuntu are two packages.
  const { distribution } = statement;
  const isOfHost = distribution !== null && distribution === target.distribution;
  if (namesDistribution(statement.ecosystem) && !isOfHost) return false;
  const { scope } = statement;
  switch (scope.kind) {
    case 'all':
      return true;
    case 'group':
      return scope.group === target.group;
    case 'host':
      return scope.agent_id === target.agentId;
  }
}

/** Whether a package of this ecosystem is one of its distribution. */
export function namesDistribution(ecosystem: Ecosystem): boolean {
  return ecosystem === 'apt' || ecosystem === 'dnf';
}
