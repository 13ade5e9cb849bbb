/**
 * A registry's standing of an artifact's hash: one of its files of that version has it, none has, or it is
 * unknown.
 */
export const HASH_STANDINGS = ['confirmed', 'contradicted', 'unknown'] as const;
export type HashStanding = (typeof HASH_STANDINGS)[number];

/** A registry's facts about one artifact. */
export interface RegistrySays {
  /** Null: an unknown time. */
  readonly publishedAtMs: number | null;
  readonly standing: HashStanding;
}

/** The registry has no facts about it, or none that can be compared with the plan. */
export const SAYS_NOTHING: RegistrySays = { publishedAtMs: null, standing: 'unknown' };
/** The time of another file does not apply to this one. */
export const CONTRADICTED: RegistrySays = { publishedAtMs: null, standing: 'contradicted' };

/** Older than any registry: a default zero instant is no time of release. */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** RFC 3339 with a zone; without one it may be any of 26 hours. Every part is bounded: no backtracking. */
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** Parses a registry's time of release; null if missing, unreadable, in the future or before any registry. */
export function releaseTimeMs(text: string | null | undefined, nowMs: number): number | null {
  if (typeof text !== 'string' || text.length > 64 || !RFC3339.test(text)) return null;
  const timeMs = Date.parse(text);
  return timeMs >= EARLIEST_MS && timeMs <= nowMs ? timeMs : null;
}
