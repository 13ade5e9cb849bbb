import { approvalsOutOfTime, keysOfLiveApprovals, liveApprovalsOfKeys } from '../approval-tokens/store.ts';
import type { Listening } from '../platform/listening.ts';
import { aheadTime } from '../platform/retention/retention-clock.ts';
import { withdrawToken } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Approvals ended per run; the next run continues. */
const APPROVALS_MAX = 500;

type Deps = Pick<ApprovalDeps, 'platform' | 'keyRing'>;

/**
 * Handles expiry: an approval that expires, or whose signing key was revoked, returns its updates to `pending` for an
 * operator. So does one that was issued by a clock that was ahead: its command would go out when that time comes, the token
 * would be valid until then, and versions looked old enough (A7). After a gap between the looks no expired one ends before a
 * host that was given it had the time to report.
 */
export async function housekeepOnce(deps: Deps, listening: Listening): Promise<void> {
  const { platform, keyRing } = deps;
  const db = platform.database.read;
  const [nowMs, aheadMs] = [platform.now(), await aheadTime(platform)];
  const listeningSince = await listening.since(nowMs);
  const late = await approvalsOutOfTime(db, { nowMs, aheadMs, listeningSince, limit: APPROVALS_MAX });
  for (const { token_id, expires_at: expiresAtMs } of late) {
    await withdraw(deps, token_id, expiresAtMs <= nowMs ? 'approval_expired' : 'clock_set_back');
  }
  // No agent accepts such a token, and signing it again would validate a forged one.
  const keyIds = (await keysOfLiveApprovals(db)).filter((keyId) => !keyRing.isActive(keyId));
  if (keyIds.length > 0) {
    for (const { token_id } of await liveApprovalsOfKeys(db, { keyIds, limit: APPROVALS_MAX })) {
      await withdraw(deps, token_id, 'signing_key_revoked');
    }
  }
  listening.looked(platform.now());
}

/** A host may already be installing with this token; that continues, but nothing new starts with it. */
async function withdraw(deps: Deps, tokenId: string, reason: string): Promise<void> {
  await withdrawToken(deps, { tokenId, reason, sparesInstalling: false });
}
