import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { moveRollout, type RolloutRow } from '../rollouts/store.ts';
import { recordRollout } from './rollout-events.ts';
import { excuseFailed } from './watch-store.ts';

type Ids = Pick<Platform, 'newId' | 'now'>;

/** An act of an operator on a rollout that they have looked at. */
export interface Act {
  readonly rollout: RolloutRow;
  readonly policyName: string;
  readonly by: string;
  readonly reason: string;
}

/** Lets a halted rollout go on; who does it answers for the hosts that have failed. Null: it is not halted any more. */
export async function resumeRollout(
  tx: Tx,
  platform: Ids,
  { rollout, policyName, by, reason }: Act,
): Promise<RolloutRow | null> {
  const set = { state: 'running', halted_at: null, halted_by: null, halt_reason: null } as const;
  const resumed = await moveRollout(tx, { id: rollout.id, from: ['halted'], set });
  if (!resumed) return null;
  const excused = await excuseFailed(tx, rollout.id);
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_resumed', severity: 'warning', actor: by, rollout: resumed, policyName },
    content: { reason, excused },
  });
  return resumed;
}

/** Ends a rollout; no rollout of the same rings carries its versions again. Null: it has ended already. */
export async function cancelRollout(
  tx: Tx,
  platform: Ids,
  { rollout, policyName, by, reason }: Act,
): Promise<RolloutRow | null> {
  const end = { ended_at: platform.now(), end_reason: `Cancelled by ${by}: ${reason}`, withdrawn: 0 };
  const set = { state: 'cancelled', ...end } as const;
  const ended = await moveRollout(tx, { id: rollout.id, from: ['running', 'halted'], set });
  if (!ended) return null;
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_cancelled', severity: 'warning', actor: by, rollout: ended, policyName },
    content: { reason },
  });
  return ended;
}

/** Moves a rollout to the emergency lane: no soak from now on, and no long wait in an empty ring. Null: it does not run. */
export async function expediteRollout(
  tx: Tx,
  platform: Ids,
  { rollout, policyName, by, reason }: Act,
): Promise<RolloutRow | null> {
  const set = { lane: 'emergency' } as const;
  const moved = await moveRollout(tx, { id: rollout.id, from: ['running'], set });
  if (!moved) return null;
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_expedited', severity: 'warning', actor: by, rollout: moved, policyName },
    content: { reason },
  });
  return moved;
}

/** Approves the gate of the ring that was entered last. Null: it does not run, or another ring has been entered. */
export async function approveRing(
  tx: Tx,
  platform: Ids,
  { rollout, policyName, by, ring }: Omit<Act, 'reason'> & { ring: number },
): Promise<RolloutRow | null> {
  const set = { approved_ring: ring, approved_by: by };
  const moved = await moveRollout(tx, { id: rollout.id, from: ['running'], ring, set });
  if (!moved) return null;
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_ring_approved', severity: 'info', actor: by, rollout: moved, policyName },
  });
  return moved;
}
