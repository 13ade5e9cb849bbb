import type { Finding } from '../advisories/closure-facts.ts';
import type { Vendor } from '../advisories/vendor-word.ts';
import type { GatePolicy } from './gate-facts.ts';

/** Why a finding does not count. */
export interface Excuse {
  readonly by: 'vendor';
  readonly vendor: Vendor;
  readonly status: 'unimportant';
}

/** The findings that do not count, each with its excuse. All others stop. */
export function excusedFindings(findings: readonly Finding[], policy: GatePolicy): Map<Finding, Excuse> {
  const excused = new Map<Finding, Excuse>();
  if (policy.unimportant === 'block') return excused;
  for (const finding of findings) {
    if (isCalledUnimportant(finding)) {
      excused.set(finding, { by: 'vendor', vendor: 'debian', status: 'unimportant' });
    }
  }
  return excused;
}

/** Debian's word that a vulnerability has no security impact, unless it is malicious or known to be exploited. */
export function isCalledUnimportant({ vendor, malicious, kev }: Finding): boolean {
  if (malicious || kev === true) return false;
  return vendor?.by === 'debian' && vendor.status === 'unimportant';
}
