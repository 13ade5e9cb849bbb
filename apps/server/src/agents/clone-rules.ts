/** An observation of an identity: when, and from where. */
export interface Observation {
  atMs: number;
  bootId: string;
  /** Null when it was not recorded. */
  address: string | null;
}

/** Signs that two machines use one identity (T3); a single machine that only restarts shows none of them. */
export type CloneSign = 'boot_id_returned' | 'uptime_went_back' | 'address_alternates';

/** Boots stored per agent. */
export const BOOTS_KEPT = 8;
/** Observations stored per suspicion. */
export const EVIDENCE_MAX = 20;
/** At most one event per agent in this time. */
export const RAISED_EVERY_MS = 3_600_000;
/** Seconds by which a request may arrive after a later one: longer than any request takes. */
export const UPTIME_SLACK_SECONDS = 30;
/** Check-ins of one machine are at least its interval minus jitter apart, so two of them exceed this window. */
const OVERLAP_INTERVALS = 1.25;

/**
 * A boot id is random at each start of a machine and never recurs: A, B, A means two machines, or one restored from a
 * snapshot. Returns the observations in order; null when the boot is new, or the latest one.
 */
export function returnedBoot(known: readonly Observation[], now: Observation): readonly Observation[] | null {
  const inOrder = known.toSorted((a, b) => a.atMs - b.atMs);
  const place = inOrder.findIndex(({ bootId }) => bootId === now.bootId);
  const since = inOrder.slice(place);
  return place === -1 || since.length < 2 ? null : [...since, now];
}

/**
 * Two addresses that alternate within one check-in interval: a single machine that changes networks takes longer to
 * return, however often it changes. Returns the observations in order.
 */
export function alternatingAddresses(
  earlier: readonly Observation[],
  { now, intervalSeconds }: { now: Observation; intervalSeconds: number },
): readonly Observation[] | null {
  const place = earlier.findLastIndex(({ address }) => address === now.address);
  const before = earlier[place];
  const between = earlier.slice(place + 1);
  if (!before || between.length === 0) return null;
  return now.atMs - before.atMs > OVERLAP_INTERVALS * intervalSeconds * 1_000
    ? null
    : [before, ...between, now];
}

/** An open or closed suspicion, as far as it affects the next sign. */
export interface Suspicion {
  open: boolean;
  raisedAtMs: number;
  /** Addresses that an operator has attributed to one machine. */
  acceptedAddresses: readonly string[];
}

export interface SignVerdict {
  /** Whether the sign counts, and joins the evidence. */
  counts: boolean;
  /** Whether it raises an event. */
  raise: boolean;
}

/** Judges a sign: at most one event an hour, and none for what an operator has dismissed. */
export function judgeSign(
  known: Suspicion | null,
  { sign, evidence, nowMs }: { sign: CloneSign; evidence: readonly Observation[]; nowMs: number },
): SignVerdict {
  if (known === null) return { counts: true, raise: true };
  const isAccepted =
    sign === 'address_alternates' &&
    evidence.every(({ address }) => address !== null && known.acceptedAddresses.includes(address));
  if (isAccepted) return { counts: false, raise: false };
  const isQuiet = nowMs - known.raisedAtMs < RAISED_EVERY_MS;
  return { counts: known.open || !isQuiet, raise: !isQuiet };
}
