import type { WaitingUpdate } from './candidates-store.ts';

/** Updates that are remembered; with more, all are forgotten and asked for again, which costs time alone. */
const REFUSED_MAX = 500_000;
/** After this time the gate is asked again although nothing about the update has changed: ages grow. */
export const ASKED_AGAIN_MS = 30 * 60_000;

/** What the gate has refused to policies, so that it is not asked again and again for the same. */
export interface Refused {
  has(policySha256: string, update: WaitingUpdate, nowMs: number): boolean;
  add(policySha256: string, update: WaitingUpdate, nowMs: number): void;
}

export function createRefused(most = REFUSED_MAX): Refused {
  const known = new Map<string, { facts: string; untilMs: number }>();
  return {
    has(policySha256, update, nowMs) {
      const before = known.get(`${policySha256} ${update.id}`);
      return before !== undefined && before.untilMs > nowMs && before.facts === factsOf(update);
    },
    add(policySha256, update, nowMs) {
      if (known.size >= most) known.clear();
      known.set(`${policySha256} ${update.id}`, { facts: factsOf(update), untilMs: nowMs + ASKED_AGAIN_MS });
    },
  };
}

/** Changes with its plan, its verdict and its state. */
function factsOf({ plan_id, judged_at, updated_at }: WaitingUpdate): string {
  return `${plan_id} ${judged_at} ${updated_at}`;
}
