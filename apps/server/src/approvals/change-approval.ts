import type { UpdateState } from '@tidegate/protocol/states';
import { lockAgent } from '../agents/store.ts';
import { updatesOfTokens } from '../approval-tokens/store.ts';
import { listCommands } from '../commands/store.ts';
import { returnToPending, withdrawApprovals } from '../commands/withdraw-approvals.ts';
import type { Tx } from '../platform/db/engine.ts';
import { lockUpdate, lockUpdates } from '../updates/lock-updates.ts';
import { recommendOffers } from '../updates/recommend-offers.ts';
import { hasPlaces } from '../updates/scan-rules.ts';
import { findUpdate } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import type { ApprovalDeps } from './deps.ts';
import { hasHost } from './has-host.ts';

export type ChangeOutcome = { kind: 'changed' } | { kind: 'not_found' } | { kind: 'conflict'; state: string };

interface Change {
  readonly updateId: string;
  readonly operator: string;
  readonly reason: string | null;
}

/** An operator's rejection: from `pending` and `awaiting_plan`. */
export async function rejectUpdate(deps: ApprovalDeps, change: Change): Promise<ChangeOutcome> {
  const outcome = await deps.platform.database.transact(async (tx): Promise<ChangeOutcome> => {
    if (!(await hasHost(tx, change.updateId))) return { kind: 'not_found' };
    const moved = await move(tx, deps, { ...change, from: ['pending', 'awaiting_plan'], to: 'rejected' });
    if (moved.kind === 'changed') await withdraw(tx, deps, change, 'rejected');
    return moved;
  });
  if (outcome.kind === 'changed') await recommendAgain(deps, change.updateId);
  return outcome;
}

/**
 * Back to `pending`: a failed or rejected update, or an approval to be withdrawn, whose command is cancelled and token
 * voided. Not once the agent has acknowledged the command: it may be installing.
 */
export async function reopenUpdate(deps: ApprovalDeps, change: Change): Promise<ChangeOutcome> {
  const outcome = await deps.platform.database.transact(async (tx): Promise<ChangeOutcome> => {
    if (!(await hasHost(tx, change.updateId))) return { kind: 'not_found' };
    const locked = await lockUpdate(tx, { engine: deps.platform.database.engine, updateId: change.updateId });
    if (locked?.state === 'approved' && (await isWithAgent(tx, change.updateId))) {
      return { kind: 'conflict', state: 'received' };
    }
    const from = ['failed', 'rejected', 'approved', 'awaiting_plan'] as const;
    const wasApproved = locked?.state === 'approved' || locked?.state === 'awaiting_plan';
    const moved = await move(tx, deps, { ...change, from, to: 'pending', takesBack: wasApproved });
    if (moved.kind === 'changed') await withdraw(tx, deps, change, 'taken_back');
    return moved;
  });
  if (outcome.kind === 'changed') await recommendAgain(deps, change.updateId);
  return outcome;
}

/** A rejected version is not recommended: another one of its package is. */
async function recommendAgain({ platform, config }: ApprovalDeps, updateId: string): Promise<void> {
  const update = await findUpdate(platform.database.read, updateId);
  if (!update || !hasPlaces(update.ecosystem)) return;
  const { agent_id: agentId, ecosystem } = update;
  await platform.database.transact(async (tx) => {
    if (!(await lockAgent(tx, agentId))) return;
    await recommendOffers(tx, { agentId, ecosystem, maxChange: config.maxChange });
  });
}

async function move(
  tx: Tx,
  { platform }: ApprovalDeps,
  args: Change & { from: readonly UpdateState[]; to: UpdateState; takesBack?: boolean },
): Promise<ChangeOutcome> {
  const { updateId, operator, reason, from, to, takesBack = false } = args;
  const set = { approval_id: null, not_before: null, taken_back: Number(takesBack) };
  if (await transitionUpdate(tx, platform, { updateId, from, to, reason, actor: operator, set })) {
    return { kind: 'changed' };
  }
  const update = await findUpdate(tx, updateId);
  return update ? { kind: 'conflict', state: update.state } : { kind: 'not_found' };
}

function withdraw(
  tx: Tx,
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { updateId, operator }: Pick<Change, 'updateId' | 'operator'>,
  reason: string,
): Promise<void> {
  return withdrawApprovals(tx, platform, { updateIds: [updateId], reason, actor: operator });
}

/**
 * Voids a token without a request and cancels its command: its updates return to `pending`. One that is being installed
 * keeps its state, and with `sparesInstalling` all of them also keep the token.
 */
export async function withdrawToken(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { tokenId, reason, sparesInstalling }: { tokenId: string; reason: string; sparesInstalling: boolean },
): Promise<void> {
  const { database } = platform;
  await database.transact(async (tx) => {
    const updateIds = await updatesOfTokens(tx, [tokenId]);
    const locked = await lockUpdates(tx, { engine: database.engine, updateIds });
    if (sparesInstalling && [...locked.values()].some(({ state }) => state === 'installing')) return;
    await withdrawApprovals(tx, platform, { updateIds, reason, actor: 'server' });
    await returnToPending(tx, platform, { updateIds, reason, actor: 'server' });
  });
}

async function isWithAgent(tx: Tx, updateId: string): Promise<boolean> {
  for (const status of ['received', 'running'] as const) {
    const filter = { updateId, status, action: 'install_update' };
    if ((await listCommands(tx, { filter, scope: null, limit: 1, before: null })).length > 0) return true;
  }
  return false;
}
