import type { ClosureFacts, Finding, Fix } from '../advisories/closure-facts.ts';
import { partCounts, splitFindings } from '../advisories/closure-parts.ts';

/** Vulnerabilities of each part that an event lists; its counts are of all. */
export const EVENT_PART_MAX = 50;

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
