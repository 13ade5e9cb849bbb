import type { Gap } from './mirror/matching/judge-from-mirror.ts';

/**
 * The outcome of a query about a subject. `judged`: its check is stored. `unreachable`: every relevant source was queried
 * and failed. `pending`: not known yet, for any reason; it will be queried again.
 */
export type Outcome = 'judged' | 'pending' | 'unreachable';

/** The API's progress on a subject that the mirror could not answer; `unused` when it is no source. */
export type ApiState = 'unused' | 'under_way' | 'failed';

/** The outcome of a subject that neither the mirror nor the API has answered. */
export function outcomeWithout(gap: Gap, api: ApiState): Exclude<Outcome, 'judged'> {
  switch (gap) {
    // A first load under way has not failed, and changing data will be complete soon.
    case 'loading':
    case 'changed':
      return 'pending';
    case 'absent':
    case 'stale':
    case 'unreadable':
      return api === 'under_way' ? 'pending' : 'unreachable';
  }
}

/** `judged` if all are; otherwise `pending` wins over `unreachable`. */
export function worstOf(outcomes: Iterable<Outcome>): Outcome {
  let worst: Outcome = 'judged';
  for (const outcome of outcomes) {
    if (outcome === 'pending') return 'pending';
    if (outcome === 'unreachable') worst = 'unreachable';
  }
  return worst;
}
