import { LISTS_MAX_AGE_MS } from '@tidegate/protocol/timeliness';
import { type ListState, UNKNOWN_LISTS } from '../ecosystem.ts';
import type { AgesAnswer } from './answers.ts';

const HOUR_MS = 3_600_000;

/**
 * Goes by the repository with the oldest metadata, and names it. Unknown when nothing is cached, and when all of it is of
 * the future: the clock was set back since.
 */
export function judgeMetadata(
  { repositories }: Pick<AgesAnswer, 'repositories'>,
  localMs: number,
): ListState {
  const known = repositories.flatMap(({ id, fetched_at: at }) =>
    at === null || at * 1_000 > localMs ? [] : [{ id, ageMs: localMs - at * 1_000 }],
  );
  const oldest = known.toSorted((a, b) => b.ageMs - a.ageMs)[0];
  if (oldest === undefined) return UNKNOWN_LISTS;
  const { id, ageMs } = oldest;
  if (ageMs <= LISTS_MAX_AGE_MS) return { ageMs, staleness: null };
  const staleness = `the metadata of ${id} are ${Math.floor(ageMs / HOUR_MS)} hours old, so newer versions are not known: look at its metadata_expire`;
  return { ageMs, staleness };
}
