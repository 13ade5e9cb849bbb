import { expiredApprovals, keysOfLiveApprovals, liveApprovalsOfKeys } from '../approval-tokens/store.ts';
import { withdrawToken } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Approvals ended per run; the next run continues. */
const APPROVALS_MAX = 500;

type Deps = Pick<ApprovalDeps, 'platform' | 'keyRing'>;

/**
 * Handles expiry: an approval that expires, or whose signing key was revoked, returns its updates to `pending` for an
 * operator.
 */
export async function housekeepOnce(deps: Deps): Promise<void> {
  const { platform, keyRing } = deps;
  const db = platform.database.read;
  for (const { token_id } of await expiredApprovals(db, { nowMs: platform.now(), limit: APPROVALS_MAX })) {
    await withdraw(deps, token_id, 'approval_expired');
  }
  // No agent accepts such a token, and signing it again would validate a forged one.
  const keyIds = (await keysOfLiveApprovals(db)).filter((keyId) => !keyRing.isActive(keyId));
  if (keyIds.length > 0) {
    for (const { token_id } of await liveApprovalsOfKeys(db, { keyIds, limit: APPROVALS_MAX })) {
      await withdraw(deps, token_id, 'signing_key_revoked');
    }
  }
}

/** A host may already be installing with this token; that continues, but nothing new starts with it. */
async function withdraw(deps: Deps, tokenId: string, reason: string): Promise<void> {
  await withdrawToken(deps, { tokenId, reason, sparesInstalling: false });
}
