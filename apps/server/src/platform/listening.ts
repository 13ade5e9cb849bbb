/** Since when a server has listened to its hosts; before it judges their silence it must have listened for some time. */
export interface Listening {
  /** The time since which there was no gap, or `nowMs`. */
  since(nowMs: number): number;
  /** A look at the hosts has ended, and the database answered it. */
  looked(nowMs: number): void;
}

/** How much later than planned a look may begin, in milliseconds. */
const LATE_MAX_MS = 30_000;

/**
 * For looks every so many milliseconds. Where the last one is long ago, the server stood still, its database was away, or
 * its clock has jumped: nobody knows whether it took check-ins meanwhile.
 */
export function createListening(everyMs: number): Listening {
  let sinceMs: number | null = null;
  let lookedMs = 0;
  return {
    since(nowMs) {
      const isGap = nowMs < lookedMs || nowMs - lookedMs > everyMs + LATE_MAX_MS;
      if (sinceMs === null || isGap) sinceMs = nowMs;
      return sinceMs;
    },
    looked(nowMs) {
      lookedMs = nowMs;
    },
  };
}
