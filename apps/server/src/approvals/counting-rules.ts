import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Finding } from '../advisories/closure-facts.ts';
import type { Vendor } from '../advisories/vendor-word.ts';
import { byVulnerability, type StatementFact, statementFor } from '../vex/statement-rules.ts';
import type { ApprovalRequest, GatePolicy } from './gate-facts.ts';

/** Why a finding does not count. */
export type Excuse =
  | { readonly by: 'vendor'; readonly vendor: Vendor; readonly status: 'unimportant' }
  | { readonly by: 'statement'; readonly statement: StatementFact };

/** Findings of one closure that statements excuse; with more, statements excuse none (A6: no blanket override). */
export const STATEMENT_USES_MAX = 100;

/** The findings that do not count, each with its excuse. All others stop. */
export function excusedFindings(
  findings: readonly Finding[],
  given: {
    /** Those that apply to the host now. */
    statements: readonly StatementFact[];
    ecosystem: Ecosystem;
    policy: GatePolicy;
    request: ApprovalRequest;
  },
): Map<Finding, Excuse> {
  const { statements, ecosystem, policy, request } = given;
  const excused = vendorExcused(findings, policy);
  // A8: the sweep never mints by an operator's statement.
  if (request.by !== 'operator') return excused;
  const about = byVulnerability(statements);
  const stated = findings.flatMap((finding) => {
    const statement = excused.has(finding) ? null : statementFor(finding, about, ecosystem);
    return statement ? [[finding, { by: 'statement', statement }] as const] : [];
  });
  return stated.length > STATEMENT_USES_MAX ? excused : new Map([...excused, ...stated]);
}

/** The findings that the distribution's word excuses. */
export function vendorExcused(findings: readonly Finding[], policy: GatePolicy): Map<Finding, Excuse> {
  if (policy.unimportant === 'block') return new Map();
  const excuse = { by: 'vendor', vendor: 'debian', status: 'unimportant' } as const;
  return new Map(findings.filter(isCalledUnimportant).map((finding) => [finding, excuse]));
}

/** Debian's word that a vulnerability has no security impact, unless it is malicious or known to be exploited. */
export function isCalledUnimportant({ vendor, malicious, kev }: Finding): boolean {
  if (malicious || kev === true) return false;
  return vendor?.by === 'debian' && vendor.status === 'unimportant';
}

/** The statements that excused something, each once, by id. */
export function usedStatements(excused: ReadonlyMap<Finding, Excuse>): StatementFact[] {
  const used = [...excused.values()].flatMap((excuse) => (excuse.by === 'statement' ? excuse.statement : []));
  return [...new Map(used.map((one) => [one.id, one])).values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
