import type { Gap } from './mirror/matching/judge-from-mirror.ts';

/**
 * What came of a question about a subject. `judged`: its check is stored. `unreachable`: every source that counts was
 * asked and failed. `pending`: not known yet, for whatever reason; it is asked about again.
 */
export type Outcome = 'judged' | 'pending' | 'unreachable';

/** How far the API is with a subject that the mirror has no answer to; `unused` where it is no source. */
export type ApiState = 'unused' | 'under_way' | 'failed';

/** What is said of a subject that the mirror leaves with a gap and that has no answer of the API. */
export function outcomeWithout(gap: Gap, api: ApiState): Exclude<Outcome, 'judged'> {
  switch (gap) {
    // A first load that is under way has not failed, and data that changes under the question will be there.
    case 'loading':
    case 'changed':
      return 'pending';
    case 'absent':
    case 'stale':
    case 'illegible':
      return api === 'under_way' ? 'pending' : 'unreachable';
  }
}

/** `judged` where all are; one that is not known yet says more of a question than one that nobody can tell. */
export function worstOf(outcomes: Iterable<Outcome>): Outcome {
  let worst: Outcome = 'judged';
  for (const outcome of outcomes) {
    if (outcome === 'pending') return 'pending';
    if (outcome === 'unreachable') worst = 'unreachable';
  }
  return worst;
}
