import { liveTokensOf, updatesOfTokens, voidTokens } from '../approval-tokens/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { transitionHeld } from '../updates/transition-update.ts';
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
