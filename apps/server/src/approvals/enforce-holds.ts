import { Envelope } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import { liveApprovals } from '../approval-tokens/store.ts';
import { heldByApproval } from '../commands/held-approval.ts';
import { markEnforced, unenforcedHolds } from '../holds/store.ts';
import { takeTurn } from '../platform/turns.ts';
import { withdrawToken } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Approvals read per statement. */
const PAGE_APPROVALS = 200;

/**
 * Withdraws live approvals that would change a package which was put on hold after they were given: their updates wait
 * for an operator again. An installation under way continues; its host reports the outcome.
 */
export async function enforceHolds(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const db = platform.database.read;
  const placed = await unenforcedHolds(db, platform.now());
  if (placed.length === 0) return;
  let after = '';
  for (;;) {
    const rows = await liveApprovals(db, { after, limit: PAGE_APPROVALS });
    const last = rows.at(-1);
    if (!last) break;
    // The next run begins again: nothing is marked yet.
    if (isStopped()) return;
    after = last.token_id;
    for (const { token_id: tokenId, envelope } of rows) {
      const parsed: unknown = JSON.parse(envelope);
      const held = Check(Envelope, parsed) ? await heldByApproval(db, parsed, placed) : [];
      if (held.length === 0) continue;
      await withdrawToken({ platform }, { tokenId, reason: 'held', sparesInstalling: true });
    }
    await takeTurn();
  }
  await platform.database.transact(async (tx) => {
    for (const { id } of placed) await markEnforced(tx, { id, nowMs: platform.now() });
  });
}
