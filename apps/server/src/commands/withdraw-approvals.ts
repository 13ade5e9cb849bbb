import { liveSetsOf, liveTokensOf, updatesOfTokens, voidTokens } from '../approval-tokens/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { findUpdates } from '../updates/many-store.ts';
import type { UpdateRow } from '../updates/store.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import { awaitPlan } from './await-plan.ts';
import { cancelCommandsOfUpdates } from './cancel-commands.ts';

type Means = Pick<Platform, 'database' | 'newId' | 'now'>;

/**
 * Ends the approvals of updates: cancels the unacknowledged commands that name one of them and voids their tokens.
 * The other updates of those tokens return to `pending`, unless their host has begun; the caller moves these.
 */
export async function withdrawApprovals(
  tx: Tx,
  platform: Means,
  { updateIds, reason, actor }: { updateIds: readonly string[]; reason: string; actor: string },
): Promise<void> {
  await cancelCommandsOfUpdates(tx, platform, { updateIds, reason });
  const tokenIds = await liveTokensOf(tx, updateIds);
  if (tokenIds.length === 0) return;
  const own = new Set(updateIds);
  const others = (await updatesOfTokens(tx, tokenIds)).filter((id) => !own.has(id));
  await voidTokens(tx, { tokenIds, reason, nowMs: platform.now() });
  await returnToPending(tx, platform, { updateIds: others, reason: `approval_withdrawn: ${reason}`, actor });
}

/**
 * Ends the approvals of updates in the same way, but the other updates of their tokens wait for a plan without them:
 * their operator has not taken anything back, and the sweep mints only what is clear (A8).
 */
export async function planOthersAgain(
  tx: Tx,
  platform: Means,
  { updateIds, reason, actor }: { updateIds: readonly string[]; reason: string; actor: string },
): Promise<void> {
  const own = new Set(updateIds);
  for (const set of await liveSetsOf(tx, updateIds)) {
    const others = set.updateIds.filter((id) => !own.has(id));
    const updates = [...(await findUpdates(tx, others)).values()].filter(({ state }) => state === 'approved');
    await withdrawApprovals(tx, platform, {
      updateIds: set.updateIds.filter((id) => own.has(id)),
      reason,
      actor,
    });
    await awaitPlan(tx, platform, {
      updates,
      ...{
        askedBy: set.approvedBy,
        policy: set.policy,
        bulkId: set.bulkId,
        askedAtMs: platform.now(),
        round: 0,
        actor,
      },
      notBeforeMs: latestOf(updates),
    });
  }
  await cancelCommandsOfUpdates(tx, platform, { updateIds, reason });
}

/** Ends those approvals of updates that leave nothing to be installed. */
export async function withdrawFinished(
  tx: Tx,
  platform: Means,
  { updateIds, reason, actor }: { updateIds: readonly string[]; reason: string; actor: string },
): Promise<void> {
  const sets = await liveSetsOf(tx, updateIds);
  const rows = await findUpdates(
    tx,
    sets.flatMap((set) => set.updateIds),
  );
  const isOpen = (id: string) => ['approved', 'installing'].includes(rows.get(id)?.state ?? '');
  const kept = new Set(sets.filter((set) => set.updateIds.some(isOpen)).flatMap((set) => set.updateIds));
  await withdrawApprovals(tx, platform, {
    updateIds: updateIds.filter((id) => !kept.has(id)),
    reason,
    actor,
  });
}

function latestOf(updates: readonly UpdateRow[]): number | null {
  const times = updates.flatMap(({ not_before }) => not_before ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** Returns approved updates to an operator; those in another state stay as they are. */
export async function returnToPending(
  tx: Tx,
  platform: Means,
  { updateIds, reason, actor }: { updateIds: readonly string[]; reason: string; actor: string },
): Promise<void> {
  const locked = await lockUpdates(tx, { engine: platform.database.engine, updateIds });
  const approved = updateIds.filter((id) => locked.get(id)?.state === 'approved');
  await transitionHeld(
    tx,
    platform,
    approved.map((updateId) => ({
      ...{ updateId, from: 'approved', to: 'pending', reason, actor },
      ...{ approvalId: null, notBefore: null },
    })),
  );
}
