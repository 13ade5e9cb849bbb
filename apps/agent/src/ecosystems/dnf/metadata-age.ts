import type { AgesAnswer } from './answers.ts';

/** Distributions set 48 hours as dnf's refresh interval. */
export const METADATA_AGE_MAX_MS = 48 * 3_600_000;
const HOUR_MS = 3_600_000;

/** Names the repository with the oldest outdated metadata; null when all are fresh or nothing is cached. */
export function findStaleRepository(
  { repositories }: Pick<AgesAnswer, 'repositories'>,
  nowMs: number,
): string | null {
  const known = repositories.flatMap(({ id, fetched_at: at }) =>
    at === null ? [] : [{ id, atMs: at * 1_000 }],
  );
  const oldest = known.toSorted((a, b) => a.atMs - b.atMs)[0];
  if (oldest === undefined || nowMs - oldest.atMs <= METADATA_AGE_MAX_MS) return null;
  const hours = Math.floor((nowMs - oldest.atMs) / HOUR_MS);
  return `the metadata of ${oldest.id} are ${hours} hours old, so newer versions are not known: look at its metadata_expire`;
}
