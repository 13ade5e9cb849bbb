/** Contradicting claims allowed per host, in the last 24 hours and in the last 30 days. */
export const DIFFERING_PER_DAY = 5;
export const DIFFERING_PER_30_DAYS = 20;
const DAY_MS = 86_400_000;
export const WINDOW_MS = 30 * DAY_MS;

/** A host's claim that contradicts an earlier one. */
export interface DifferingClaim {
  /** The artifact; several hashes of one are several claims that contest one artifact. */
  readonly artifact: string;
  readonly seenAtMs: number;
  /** Whether it proved right: accepted, confirmed, or reported by a quorum. */
  readonly vindicated: boolean;
  /** The hosts that it contradicts, if nothing but their reports stands against it. */
  readonly opponents: readonly string[];
}

export interface FloodVerdict {
  readonly day: number;
  readonly month: number;
  /** Hosts whose reports alone it contradicts about more artifacts than one host may: either side may lie. */
  readonly opponents: readonly string[];
}

/**
 * Null while a host contradicts the fleet within its limits. Claims that proved right do not count. The finding is about
 * the newcomer: one host's reports discredit no other. But if a quorum of hosts was found against the reports of the same
 * host, the finding is about that one (`contests`).
 */
export function judgeFlood(claims: readonly DifferingClaim[], nowMs: number): FloodVerdict | null {
  const counted = claims.filter(({ seenAtMs, vindicated }) => !vindicated && seenAtMs > nowMs - WINDOW_MS);
  const month = counted.length;
  const day = counted.filter(({ seenAtMs }) => seenAtMs > nowMs - DAY_MS).length;
  if (day <= DIFFERING_PER_DAY && month <= DIFFERING_PER_30_DAYS) return null;
  const contested = new Map<string, Set<string>>();
  for (const { artifact, opponents } of counted) {
    for (const opponent of opponents) {
      const artifacts = contested.get(opponent) ?? new Set();
      contested.set(opponent, artifacts.add(artifact));
    }
  }
  const opponents = [...contested].flatMap(([opponent, artifacts]) =>
    artifacts.size > DIFFERING_PER_DAY ? [opponent] : [],
  );
  return { day, month, opponents: opponents.toSorted() };
}
