import type { ClosureFacts, Finding } from './closure-facts.ts';

/** The vulnerabilities that the update introduces, and those that stay, in the given order. */
export function splitFindings(findings: readonly Finding[]): { introduced: Finding[]; stayed: Finding[] } {
  return {
    introduced: findings.filter(({ change }) => change === 'introduced'),
    stayed: findings.filter(({ change }) => change === 'still_present'),
  };
}

/** Vulnerabilities in each part; null: none is known, and packages were not checked. */
export interface PartCounts {
  readonly introduces: number | null;
  readonly stays: number | null;
  readonly fixes: number | null;
}

/** How many vulnerabilities each part has; one that several packages have counts once. */
export function partCounts({
  findings,
  fixed,
  unchecked,
  isFixedComplete = false,
}: ClosureFacts): PartCounts {
  const { introduced, stayed } = splitFindings(findings);
  return {
    introduces: countOf(introduced, unchecked === null),
    stays: countOf(stayed, unchecked === null),
    fixes: countOf(fixed, isFixedComplete),
  };
}

function countOf(some: readonly { readonly id: string }[], isComplete: boolean): number | null {
  const count = new Set(some.map(({ id }) => id)).size;
  return count > 0 || isComplete ? count : null;
}
