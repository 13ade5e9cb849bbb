import type { ClosureFacts, Finding, Fix } from '../advisories/closure-facts.ts';

/** Vulnerabilities of each part that an event lists; its counts are of all. */
export const EVENT_PART_MAX = 50;

/** The vulnerabilities that the update introduces, and those that stay, in the given order. */
export function splitFindings(findings: readonly Finding[]): { introduced: Finding[]; stayed: Finding[] } {
  return {
    introduced: findings.filter(({ change }) => change === 'introduced'),
    stayed: findings.filter(({ change }) => change === 'still_present'),
  };
}

export interface PartCounts {
  readonly introduces: number;
  readonly stays: number;
  /** Null: what is known about the present versions or the new ones is incomplete. */
  readonly fixes: number | null;
}

/** How many vulnerabilities each part has. */
export function partCounts({ findings, fixed, isFixedComplete = false }: ClosureFacts): PartCounts {
  const { introduced, stayed } = splitFindings(findings);
  return {
    introduces: introduced.length,
    stays: stayed.length,
    fixes: isFixedComplete ? fixed.length : null,
  };
}

/** The three parts as an event states them: the first of each, and how many there are. */
export function eventParts(closure: ClosureFacts) {
  const { introduced, stayed } = splitFindings(closure.findings);
  return {
    introduces: introduced.slice(0, EVENT_PART_MAX).map(named),
    stays: stayed.slice(0, EVENT_PART_MAX).map(named),
    fixes: closure.fixed.slice(0, EVENT_PART_MAX).map(named),
    counts: partCounts(closure),
  };
}

function named({ id, package: name, severity = null, kev, epss = null }: Finding | Fix) {
  return { id, package: name, severity, ...(kev !== undefined && { kev }), epss };
}
