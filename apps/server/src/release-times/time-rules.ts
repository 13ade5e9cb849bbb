/** Before there was a registry: a zero instant that somebody filled in is no time of release. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** RFC 3339 with a zone; a time without one may be any of 26 hours. Every part is bounded: no backtracking. */
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** The time of release that a registry gives; null where it is missing, unreadable, in the future or nonsense. */
export function releaseTimeMs(text: string | null | undefined, nowMs: number): number | null {
  if (typeof text !== 'string' || text.length > 64 || !RFC3339.test(text)) return null;
  const timeMs = Date.parse(text);
  return timeMs >= EARLIEST_MS && timeMs <= nowMs ? timeMs : null;
}
