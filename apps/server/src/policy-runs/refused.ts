import type { BlockReason } from '@tidegate/protocol/approvals-api';
import type { WaitingUpdate } from './candidates-store.ts';

/** Updates that are remembered; with more, all are forgotten and asked for again, which costs time alone. */
const REFUSED_MAX = 500_000;
/** After this time the gate is asked again although nothing about the update has changed: ages grow. */
export const ASKED_AGAIN_MS = 30 * 60_000;

/** What the gate has refused to policies, so that it is not asked again and again for the same. */
export interface Refused {
  /** Null: the gate has to be asked. */
  reasonOf(policySha256: string, update: WaitingUpdate, nowMs: number): BlockReason | null;
  add(policySha256: string, refusal: { update: WaitingUpdate; reason: BlockReason; nowMs: number }): void;
}

export function createRefused(most = REFUSED_MAX): Refused {
  const known = new Map<string, { facts: string; reason: BlockReason; untilMs: number }>();
  return {
    reasonOf(policySha256, update, nowMs) {
      const before = known.get(`${policySha256} ${update.id}`);
      // A clock that was set back must not keep it from being asked again.
      const leftMs = before ? before.untilMs - nowMs : 0;
      const isKept = leftMs > 0 && leftMs <= ASKED_AGAIN_MS;
      return before && isKept && before.facts === factsOf(update) ? before.reason : null;
    },
    add(policySha256, { update, reason, nowMs }) {
      if (known.size >= most) known.clear();
      const untilMs = nowMs + ASKED_AGAIN_MS;
      known.set(`${policySha256} ${update.id}`, { facts: factsOf(update), reason, untilMs });
    },
  };
}

/** How many updates the gate stops, by reason. */
export type Stops = Map<BlockReason, number>;

export function countStop(stops: Stops, reason: BlockReason): void {
  stops.set(reason, (stops.get(reason) ?? 0) + 1);
}

/** The columns of a run: the most frequent reason first. */
export function stopColumns(stops: Stops): { stopped: number; stopped_by: string } {
  const by = [...stops].map(([reason, count]) => ({ reason, count }));
  by.sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  const stopped = by.reduce((sum, { count }) => sum + count, 0);
  return { stopped, stopped_by: JSON.stringify(by) };
}

/** Changes with its plan, its verdict and its state. */
function factsOf({ plan_id, judged_at, updated_at }: WaitingUpdate): string {
  return `${plan_id} ${judged_at} ${updated_at}`;
}
