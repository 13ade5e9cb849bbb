import { RETURN_SPREAD_MAX_MS } from '@tidegate/protocol/agent-api';

/** Since when a server has listened to its hosts; before it judges their silence it must have listened for some time. */
export interface Listening {
  /**
   * The time from which on hosts could be heard without a gap. After a gap it is still to come: hosts that found the server away
   * wait the longer until they ask again, the longer it was.
   */
  since(nowMs: number): Promise<number>;
  /** A look at the hosts has ended, and the database answered it. */
  looked(nowMs: number): void;
}

/** How much later than planned a look may begin, in milliseconds. */
const LATE_MAX_MS = 30_000;
/** The wait of a host doubles with each try: it may be twice the time that the server was away. */
const RETURN_TIMES = 2;

/**
 * For looks every so many milliseconds. Where the last one is long ago, the server stood still, its database was away, or
 * its clock has jumped: nobody knows whether it took check-ins meanwhile. `heardMs`: when a host was heard last, or null.
 */
export function createListening(
  everyMs: number,
  heardMs: () => Promise<number | null> = async () => null,
): Listening {
  let sinceMs: number | null = null;
  let lookedMs = 0;
  return {
    async since(nowMs) {
      const isGap = nowMs < lookedMs || nowMs - lookedMs > everyMs + LATE_MAX_MS;
      if (sinceMs !== null && !isGap) return sinceMs;
      const awayMs = Math.max(0, nowMs - ((await heardMs()) ?? nowMs));
      sinceMs = nowMs + Math.min(RETURN_SPREAD_MAX_MS, RETURN_TIMES * awayMs);
      return sinceMs;
    },
    looked(nowMs) {
      lookedMs = nowMs;
    },
  };
}
