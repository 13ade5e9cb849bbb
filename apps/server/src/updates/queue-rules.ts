/** Facts about an update for the order of the queue; null: unknown, which is neither yes nor no. */
export interface Urgency {
  readonly severity: string | null;
  readonly knownExploited: boolean | null;
  readonly epss: number | null;
}

/** Steps of a score in a rank: the feed has five digits. */
const EPSS_STEPS = 1_000_000;
export const SEVERITIES_RISING = ['unknown', 'none', 'low', 'medium', 'high', 'critical'];

/** The worst severity; of those without one it is `unknown`, and of nothing it is null. */
export function worstSeverity(severities: readonly (string | null | undefined)[]): string | null {
  if (severities.length === 0) return null;
  const ranks = severities.map((severity) => SEVERITIES_RISING.indexOf(severity ?? 'unknown'));
  return SEVERITIES_RISING[Math.max(0, ...ranks)] ?? null;
}
/** One more than the highest severity rank. */
const SEVERITY_ROOM = 10;
/** Lowest rank of known exploitation. */
export const EPSS_ROOM = (EPSS_STEPS + 2) * SEVERITY_ROOM;

/** What an update fixes; null: unknown. */
export interface FixedWorst {
  readonly fixes: number | null;
  readonly severity: string | null;
  readonly exploited: boolean | null;
}

/** Lowest fix rank of an update that fixes what is known to be exploited. */
export const EXPLOITED_FIX = 10;
/** Not null: PostgreSQL would sort all such rows, although the index has them in order. */
export const UNKNOWN_FIX = -1;

/**
 * The sort key of what an update fixes, higher is more urgent: known exploitation, then severity; 0 if it is known to fix
 * nothing, `UNKNOWN_FIX` if that is not known. It only orders; no decision reads it.
 */
export function fixRank({ fixes, severity, exploited }: FixedWorst): number {
  if (fixes === null) return UNKNOWN_FIX;
  if (fixes === 0) return 0;
  return (exploited ? EXPLOITED_FIX : 0) + 1 + SEVERITIES_RISING.indexOf(severity ?? 'unknown');
}

/** What several updates fix, and of the most urgent one how bad that is; null: not known. */
export interface FixedTogether {
  readonly fixes: boolean | null;
  readonly severity: string | null;
  readonly exploited: true | null;
}

/** The same from the least and the greatest of their fix ranks; null: there are no updates. */
export function fixedTogether(least: number | null, greatest: number | null): FixedTogether {
  if (least === null || greatest === null || (greatest <= 0 && least === UNKNOWN_FIX))
    return { fixes: null, severity: null, exploited: null };
  if (greatest === 0) return { fixes: false, severity: null, exploited: null };
  const isExploited = greatest > EXPLOITED_FIX;
  const severity = SEVERITIES_RISING[greatest - 1 - (isExploited ? EXPLOITED_FIX : 0)] ?? null;
  return { fixes: true, severity, exploited: isExploited || null };
}

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
