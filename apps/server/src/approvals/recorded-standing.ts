import type { RecordedStanding } from '@tidegate/protocol/decisions-api';
import { tooYoung } from '../policies/policy-rules.ts';
import type { RingStanding } from '../rollouts/promotion-rules.ts';
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
  ring,
}: Standing): RecordedStanding {
  // What decides comes first, so that a shortened list decides the same.
  const young = new Set(tooYoung(terms, brought, atMs));
  const sorted = brought.toSorted((a, b) => rankOf(a, young) - rankOf(b, young));
  return {
    ...{ policy_id: policyId, sha256, terms, at_ms: atMs },
    updates: updates.map(({ fixes, version, ...rest }) => ({
      ...{ ...rest, fixes: fixes && [...fixes] },
      ...(version !== undefined && { version }),
    })),
    brought: {
      total: brought.length,
      items: sorted.slice(0, BROUGHT_MAX).map(({ package: name, version, sinceMs }) => ({
        ...{ package: name, version, since_ms: sinceMs },
      })),
    },
    ...(ring && { ring: recordedRing(ring) }),
  };
}

function recordedRing({ ring, name, isEntered, rolloutIds, enteredAtMs, unproven, rule }: RingStanding) {
  return {
    ...{ ring, name, entered: isEntered, rollouts: [...rolloutIds], entered_at_ms: enteredAtMs, rule },
    unproven: { total: unproven.length, items: unproven.slice(0, BROUGHT_MAX).map((one) => ({ ...one })) },
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
  ring,
}: RecordedStanding): Standing {
  return {
    ...{ policyId, sha256, terms, updates, atMs },
    brought: brought.items.map(({ package: name, version, since_ms: sinceMs }) => ({
      ...{ package: name, version, sinceMs },
    })),
    ...(ring && {
      ring: {
        ...{ ring: ring.ring, name: ring.name, isEntered: ring.entered, rolloutIds: ring.rollouts },
        ...{ enteredAtMs: ring.entered_at_ms, rule: ring.rule, unproven: ring.unproven.items },
      },
    }),
  };
}
