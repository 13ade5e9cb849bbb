/** An identity seen at one place at one moment. */
export interface Sighting {
  atMs: number;
  bootId: string;
  /** Null where it was not kept: before this was recorded. */
  address: string | null;
}

/** What says that one identity is used by two machines (T3); none of them happens to one machine that only restarts. */
export type CloneSign = 'boot_id_returned' | 'uptime_went_back' | 'address_alternates';

/** Boots that are remembered of an agent. */
export const BOOTS_KEPT = 8;
/** Sightings that are kept of one suspicion. */
export const EVIDENCE_MAX = 20;
/** An agent raises one event in this time. */
export const RAISED_EVERY_MS = 3_600_000;
/** Seconds by which a request may be late behind the next one: longer than it may take. */
export const UPTIME_SLACK_SECONDS = 30;
/** The check-ins of one machine are further apart than its interval less the jitter; two of them fill this window. */
const OVERLAP_INTERVALS = 1.25;

/**
 * A boot id is drawn at each start of a machine and never comes back: A, B, A are two machines, or one that was set
 * back to a snapshot. Returns what was seen, in order; null where the boot is new, or the one that was seen last.
 */
export function returnedBoot(known: readonly Sighting[], now: Sighting): readonly Sighting[] | null {
  const inOrder = known.toSorted((a, b) => a.atMs - b.atMs);
  const place = inOrder.findIndex(({ bootId }) => bootId === now.bootId);
  const since = inOrder.slice(place);
  return place === -1 || since.length < 2 ? null : [...since, now];
}

/**
 * Two addresses that alternate within one interval of check-ins: one machine that changes its network comes back
 * later than that, however often it does. Returns what was seen, in order.
 */
export function alternatingAddresses(
  earlier: readonly Sighting[],
  { now, intervalSeconds }: { now: Sighting; intervalSeconds: number },
): readonly Sighting[] | null {
  const place = earlier.findLastIndex(({ address }) => address === now.address);
  const before = earlier[place];
  const between = earlier.slice(place + 1);
  if (!before || between.length === 0) return null;
  return now.atMs - before.atMs > OVERLAP_INTERVALS * intervalSeconds * 1_000
    ? null
    : [before, ...between, now];
}

/** A suspicion that stands, or stood: what decides over the next sign. */
export interface Suspicion {
  open: boolean;
  raisedAtMs: number;
  /** Addresses that an operator has said to be of one machine. */
  acceptedAddresses: readonly string[];
}

export interface SignVerdict {
  /** Whether the sign counts at all, and goes to the evidence. */
  counts: boolean;
  /** Whether it is told by an event. */
  raise: boolean;
}

/** What a sign means beside what is known: one event an hour, and nothing of what an operator has dismissed. */
export function judgeSign(
  known: Suspicion | null,
  { sign, evidence, nowMs }: { sign: CloneSign; evidence: readonly Sighting[]; nowMs: number },
): SignVerdict {
  if (known === null) return { counts: true, raise: true };
  const isAccepted =
    sign === 'address_alternates' &&
    evidence.every(({ address }) => address !== null && known.acceptedAddresses.includes(address));
  if (isAccepted) return { counts: false, raise: false };
  const isQuiet = nowMs - known.raisedAtMs < RAISED_EVERY_MS;
  return { counts: known.open || !isQuiet, raise: !isQuiet };
}
