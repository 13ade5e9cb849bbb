/** Facts about an update for the order of the queue; null: unknown, which is neither yes nor no. */
export interface Urgency {
  readonly severity: string | null;
  readonly knownExploited: boolean | null;
  readonly epss: number | null;
}

/** Steps of a score in a rank: the feed has five digits. */
const EPSS_STEPS = 1_000_000;
export const SEVERITIES_RISING = ['unknown', 'none', 'low', 'medium', 'high', 'critical'];
/** One more than the highest severity rank. */
const SEVERITY_ROOM = 10;
/** Lowest rank of known exploitation. */
export const EPSS_ROOM = (EPSS_STEPS + 2) * SEVERITY_ROOM;

/**
 * The sort key of the queue, higher is more urgent: known exploitation, then likelihood, then severity. Null
 * if nothing is known. It only orders; no decision reads it.
 */
export function queueRank({ severity, knownExploited, epss }: Urgency): number | null {
  if (severity === null && knownExploited === null && epss === null) return null;
  const likelihood = epss === null ? 0 : 1 + Math.round(epss * EPSS_STEPS);
  const weight = severity === null ? 0 : 1 + SEVERITIES_RISING.indexOf(severity);
  return (knownExploited ? EPSS_ROOM : 0) + likelihood * SEVERITY_ROOM + weight;
}
