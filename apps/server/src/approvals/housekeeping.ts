import { expireCommands } from '../commands/expire-commands.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { withdraw } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';
import { expiredApprovals } from './store.ts';

/** Approvals that one run ends; the next run goes on. */
const APPROVALS_MAX = 500;

/**
 * Ends what is past its time: an approval that expires puts its update back to `pending`, and an install command that
 * expires while its approval lives is issued anew.
 */
export async function housekeepOnce({ platform }: Pick<ApprovalDeps, 'platform'>): Promise<void> {
  const reason = 'approval_expired';
  const expired = await expiredApprovals(platform.database.read, {
    nowMs: platform.now(),
    limit: APPROVALS_MAX,
  });
  for (const { update_id: updateId } of expired) {
    await platform.database.transact(async (tx) => {
      await withdraw(tx, { platform }, { updateId, reason });
      await transitionUpdate(tx, platform, {
        updateId,
        from: ['approved'],
        to: 'pending',
        reason,
        actor: 'server',
        set: { approval_id: null, not_before: null },
      });
    });
  }
  await platform.database.transact((tx) => expireCommands(tx, platform, { agentId: null }));
}
