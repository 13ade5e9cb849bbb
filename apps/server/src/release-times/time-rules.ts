/**
 * What a registry says of the hash of an artifact: that one of the files it has for that version is this one, that none
 * is, or nothing.
 */
export const HASH_STANDINGS = ['confirmed', 'contradicted', 'unknown'] as const;
export type HashStanding = (typeof HASH_STANDINGS)[number];

/** What a registry says of one artifact. */
export interface RegistrySays {
  /** Null: a time that it does not know. */
  readonly publishedAtMs: number | null;
  readonly standing: HashStanding;
}

/** The registry said nothing of it, or nothing that can be held against the plan. */
export const SAYS_NOTHING: RegistrySays = { publishedAtMs: null, standing: 'unknown' };
/** The time of another file says nothing about this one. */
export const CONTRADICTED: RegistrySays = { publishedAtMs: null, standing: 'contradicted' };

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
