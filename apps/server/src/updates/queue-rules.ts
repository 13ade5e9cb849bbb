/** What is known of an update for the order of the queue; null: not known, which is neither yes nor no. */
export interface Urgency {
  readonly severity: string | null;
  readonly knownExploited: boolean | null;
  readonly epss: number | null;
}

/** Steps of a score in a rank: the feed gives five digits. */
const EPSS_STEPS = 1_000_000;
export const SEVERITIES_RISING = ['unknown', 'none', 'low', 'medium', 'high', 'critical'];
/** One more than the highest part that a severity has. */
const SEVERITY_ROOM = 10;
/** Ranks from here on are of what is known to be exploited. */
export const EPSS_ROOM = (EPSS_STEPS + 2) * SEVERITY_ROOM;

/**
 * One number by which the queue is ordered, the more urgent the higher: known to be exploited, then the likelihood,
 * then the severity. Null where nothing at all is known. It orders, and no decision looks at it.
 */
export function queueRank({ severity, knownExploited, epss }: Urgency): number | null {
  if (severity === null && knownExploited === null && epss === null) return null;
  const likelihood = epss === null ? 0 : 1 + Math.round(epss * EPSS_STEPS);
  const weight = severity === null ? 0 : 1 + SEVERITIES_RISING.indexOf(severity);
  return (knownExploited ? EPSS_ROOM : 0) + likelihood * SEVERITY_ROOM + weight;
}
