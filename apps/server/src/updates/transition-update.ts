import type { UpdateState } from '@tidegate/protocol/states';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type StateChange, swapStates } from './many-store.ts';
import { compareAndSwapState, insertHistory, type UpdateChange } from './store.ts';
import { updateMayMove } from './transition-rules.ts';

export interface UpdateMove {
  updateId: string;
  /** States that the caller has judged; in any other nothing happens. */
  from: readonly UpdateState[];
  to: UpdateState;
  reason?: string | null;
  /** Operator name, `agent`, `scan`, `sweep` or `server`. */
  actor: string;
  /** Columns that change together with the state. */
  set?: UpdateChange;
}

/**
 * Moves an update by compare-and-swap and writes its history. False if the update is not in a state of
 * `from`: of two concurrent callers one wins. Throws if the table of states does not allow the move.
 */
export async function transitionUpdate(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { updateId, from, to, reason = null, actor, set = {} }: UpdateMove,
): Promise<boolean> {
  const wrong = from.find((state) => !updateMayMove({ from: state, to }));
  if (wrong) throw new Error(`an update never goes from ${wrong} to ${to}`);
  const nowMs = platform.now();
  for (const state of from) {
    const change = { ...set, state: to, state_reason: reason, updated_at: nowMs };
    if (!(await compareAndSwapState(tx, { updateId, from: state, change }))) continue;
    await insertHistory(tx, [
      {
        id: platform.newId(),
        update_id: updateId,
        at: nowMs,
        from_state: state,
        to_state: to,
        reason,
        actor,
      },
    ]);
    return true;
  }
  return false;
}

/**
 * Moves many updates whose rows the caller has locked and judged, each from its current state, and writes
 * their histories. Throws if one is in another state after all: then the transaction must roll back.
 */
export async function transitionHeld(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  changes: readonly StateChange[],
): Promise<void> {
  const wrong = changes.find((change) => !updateMayMove(change));
  if (wrong) throw new Error(`an update never goes from ${wrong.from} to ${wrong.to}`);
  const nowMs = platform.now();
  const swapped = await swapStates(tx, { changes, nowMs });
  if (swapped !== changes.length) throw new Error('an update that is held is in another state');
  await insertHistory(
    tx,
    changes.map(({ updateId, from, to, reason, actor }) => ({
      id: platform.newId(),
      update_id: updateId,
      at: nowMs,
      from_state: from,
      to_state: to,
      reason,
      actor,
    })),
  );
}
