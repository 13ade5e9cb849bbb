import { expiredApprovals, keysOfLiveApprovals, liveApprovalsOfKeys } from '../approval-tokens/store.ts';
import { expireCommands } from '../commands/expire-commands.ts';
import { takeBackApproval } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Approvals that one run ends; the next run goes on. */
const APPROVALS_MAX = 500;

type Deps = Pick<ApprovalDeps, 'platform' | 'keyRing'>;

/**
 * Ends what is past its time: an approval that expires, or whose signing key was revoked, puts its update back to
 * `pending` for a human, and an install command that expires while its approval lives is issued anew.
 */
export async function housekeepOnce(deps: Deps): Promise<void> {
  const { platform, keyRing } = deps;
  const db = platform.database.read;
  for (const { update_id } of await expiredApprovals(db, { nowMs: platform.now(), limit: APPROVALS_MAX })) {
    await takeBack(deps, update_id, 'approval_expired');
  }
  // No agent takes such a token any more, and signing it anew would make a forged one good.
  const keyIds = (await keysOfLiveApprovals(db)).filter((keyId) => !keyRing.isActive(keyId));
  if (keyIds.length > 0) {
    for (const { update_id } of await liveApprovalsOfKeys(db, { keyIds, limit: APPROVALS_MAX })) {
      await takeBack(deps, update_id, 'signing_key_revoked');
    }
  }
  await platform.database.transact((tx) => expireCommands(tx, platform, { agentId: null }));
}

/** Its host may be installing by such a token already; that goes on, but nothing begins by it any more. */
async function takeBack(deps: Deps, updateId: string, reason: string): Promise<void> {
  await takeBackApproval(deps, { updateId, reason, sparesInstalling: false });
}
