import type { RecordedStanding } from '@tidegate/protocol/decisions-api';
import { tooYoung } from '../policies/policy-rules.ts';
import type { Standing } from './gate-facts.ts';

/** Versions that a record names, those first that are too young. */
const BROUGHT_MAX = 200;

/** What a policy asked for, as decisions record it. */
export function recordedStanding({
  policyId,
  sha256,
  terms,
  updates,
  brought,
  atMs,
}: Standing): RecordedStanding {
  // What decides comes first, so that a shortened list decides the same.
  const young = new Set(tooYoung(terms, brought, atMs));
  const sorted = brought.toSorted((a, b) => rankOf(a, young) - rankOf(b, young));
  return {
    ...{ policy_id: policyId, sha256, terms, at_ms: atMs },
    updates: updates.map(({ fixes, ...rest }) => ({ ...rest, fixes: fixes && [...fixes] })),
    brought: {
      total: brought.length,
      items: sorted.slice(0, BROUGHT_MAX).map(({ package: name, version, sinceMs }) => ({
        ...{ package: name, version, since_ms: sinceMs },
      })),
    },
  };
}

/** Known ages decide the reason, so one of them comes before all that are not known. */
function rankOf(one: Standing['brought'][number], young: ReadonlySet<Standing['brought'][number]>): number {
  if (!young.has(one)) return 2;
  return one.sinceMs === null ? 1 : 0;
}

/** The same, for replaying a record. */
export function standingOfRecord({
  policy_id: policyId,
  sha256,
  terms,
  updates,
  brought,
  at_ms: atMs,
}: RecordedStanding): Standing {
  return {
    ...{ policyId, sha256, terms, updates, atMs },
    brought: brought.items.map(({ package: name, version, since_ms: sinceMs }) => ({
      ...{ package: name, version, sinceMs },
    })),
  };
}
