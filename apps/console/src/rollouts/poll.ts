import type { RolloutItem } from '@tidegate/protocol/rollouts-api';
import { refetchInterval } from '../api/live.ts';

/** The outcome of a host may change without any row that the stream watches: it goes offline, or its deadline passes. */
const RUNNING_POLL_MS = 5_000;

/** How often to refetch what is shown of these rollouts, in milliseconds. */
export function pollMs(rollouts: readonly Pick<RolloutItem, 'state'>[]): number {
  const isMoving = rollouts.some(({ state }) => state === 'running' || state === 'halted');
  return isMoving ? Math.min(RUNNING_POLL_MS, refetchInterval()) : refetchInterval();
}
