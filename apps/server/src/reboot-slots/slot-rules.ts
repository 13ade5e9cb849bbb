/** How many hosts of a group may be down at once. */
export interface Limits {
  readonly maxAtOnce: number;
  /** Other hosts of the group that must be up and well. */
  readonly minHealthy: number;
  readonly haltAfter: number;
}

/** Of a group for which nobody has set any. */
export const DEFAULT_LIMITS: Limits = { maxAtOnce: 1, minHealthy: 0, haltAfter: 2 };

/** The slots of a group that have not ended. */
export interface SlotCounts {
  /** All of them, with the failed ones: a host that did not come back keeps its slot. */
  readonly open: number;
  readonly failed: number;
}

export type SlotVerdict = 'free' | 'halted' | 'none_free' | 'too_few_healthy';

/** A halted group gives no slot, whatever else is free. */
export function isHalted({ haltAfter }: Pick<Limits, 'haltAfter'>, { failed }: SlotCounts): boolean {
  return failed >= haltAfter;
}

/**
 * Whether one more host of a group may go down. `healthyOthers` counts the hosts of the group that are up and well and
 * have no slot, without the host that asks: so many are left while it is down.
 */
export function judgeSlot(
  limits: Limits,
  { counts, healthyOthers }: { counts: SlotCounts; healthyOthers: number },
): SlotVerdict {
  if (isHalted(limits, counts)) return 'halted';
  if (counts.open >= limits.maxAtOnce) return 'none_free';
  return healthyOthers < limits.minHealthy ? 'too_few_healthy' : 'free';
}
