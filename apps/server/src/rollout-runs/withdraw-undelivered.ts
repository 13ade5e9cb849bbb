import { withdrawToken } from '../approvals/change-approval.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { moveRollout, type RolloutRow, unwithdrawnRollouts } from '../rollouts/store.ts';
import { undeliveredTokens } from './watch-store.ts';

/** Tokens read per statement. */
const PAGE_TOKENS = 200;

/**
 * Withdraws what rollouts that stand still or were cancelled had approved and no host has acknowledged. A run that is
 * broken off begins again; one that ends marks the rollout.
 */
export async function withdrawUndelivered(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  for (const rollout of await unwithdrawnRollouts(platform.database.read)) {
    if (!(await withdrawOf({ platform }, rollout, isStopped))) return;
    const { id, state } = rollout;
    await platform.database.transact((tx) => moveRollout(tx, { id, from: [state], set: { withdrawn: 1 } }));
  }
}

async function withdrawOf(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  rollout: RolloutRow,
  isStopped: () => boolean,
): Promise<boolean> {
  let after = '';
  for (;;) {
    const tokens = await undeliveredTokens(platform.database.read, { rollout, after, limit: PAGE_TOKENS });
    const last = tokens.at(-1);
    if (last === undefined) return true;
    after = last;
    for (const tokenId of tokens) {
      if (isStopped()) return false;
      await withdrawToken(
        { platform },
        { tokenId, reason: `rollout_${rollout.state}`, sparesInstalling: true },
      );
    }
  }
}
