import type { CommandResult, UpdateOutcome } from '@tidegate/protocol/agent-api';
import type { UpdateState } from '@tidegate/protocol/states';
import { liveSetsOf } from '../approval-tokens/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type LockedUpdate, lockUpdates } from '../updates/lock-updates.ts';
import { findUpdates, forgetPlans, type StateChange } from '../updates/many-store.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import { EVENT_UPDATES_MAX, namedForEvent } from '../updates/update-set.ts';
import { awaitPlan } from './await-plan.ts';
import { updatesOfCommand } from './named-updates.ts';
import { isSiblingDrift } from './sibling-drift.ts';
import type { CommandRow } from './store.ts';
import { withdrawApprovals } from './withdraw-approvals.ts';

/** Maximum length of an agent's text in an event, in characters. */
const REASON_MAX_CHARS = 1_000;

/**
 * Moves the updates of an installation by its result: each by its own outcome, or all by the status. A scan or
 * an operator may have closed one before; it stays as it is.
 */
export async function moveInstalled(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { command, result }: { command: CommandRow; result: CommandResult },
): Promise<void> {
  const updateIds = updatesOfCommand(command);
  const locked = await lockUpdates(tx, { engine: platform.database.engine, updateIds });
  const outcomes = new Map((result.updates ?? []).map((one) => [one.update_id, one.outcome]));
  const moves = updateIds.flatMap((id) => {
    const held = locked.get(id);
    return held ? movesOf(id, held, { result, outcome: outcomes.get(id) }) : [];
  });
  // First all to `installing`, then to their ends: a change is made from the state that is held.
  await transitionHeld(
    tx,
    platform,
    moves.filter(({ to }) => to === 'installing'),
  );
  const ended = moves.filter(({ to }) => to !== 'installing');
  await transitionHeld(tx, platform, ended);
  const idsOf = (to: UpdateState) => ended.filter((move) => move.to === to).map(({ updateId }) => updateId);
  const failed = idsOf('failed');
  const isAgain = failed.length > 0 && (await isSiblingDrift(tx, { command, result }));
  if (isAgain) await planAgain(tx, platform, { command, updateIds: failed });
  for (const to of ['installed', 'failed'] as const) {
    const ids = idsOf(to);
    if (ids.length === 0 || (to === 'failed' && isAgain)) continue;
    await appendOutcome(tx, platform, { command, result, to, updateIds: ids });
  }
}

/** Lets updates whose plan was overtaken by another approved installation wait for a new one. */
async function planAgain(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { command, updateIds }: { command: CommandRow; updateIds: readonly string[] },
): Promise<void> {
  const [set] = await liveSetsOf(tx, updateIds);
  if (!set) return; // the approval has ended since
  const change = { reason: 'plan_drift', actor: 'server' };
  await transitionHeld(
    tx,
    platform,
    updateIds.map((updateId) => ({
      ...{ updateId, from: 'failed', to: 'pending', ...change },
      ...{ approvalId: null, notBefore: null },
    })),
  );
  await withdrawApprovals(tx, platform, { updateIds: updatesOfCommand(command), ...change });
  await forgetPlans(tx, updateIds);
  await awaitPlan(tx, platform, {
    updates: [...(await findUpdates(tx, updateIds)).values()],
    ...{
      askedBy: set.approvedBy,
      policy: set.policy,
      bulkId: set.bulkId,
      askedAtMs: platform.now(),
      round: 0,
    },
    ...{ actor: 'server', notBeforeMs: null },
  });
}

function movesOf(
  updateId: string,
  held: LockedUpdate,
  { result, outcome }: { result: CommandResult; outcome: UpdateOutcome | undefined },
): StateChange[] {
  const { approval_id: approvalId, not_before: notBefore } = held;
  const change = (from: UpdateState, to: UpdateState, reason: string | null = null): StateChange => ({
    ...{ updateId, from, to, reason, actor: 'agent', approvalId, notBefore },
  });
  const isApproved = held.state === 'approved';
  const from = isApproved ? 'approved' : 'installing';
  if (held.state !== from) return [];
  if (result.status === 'running') return isApproved ? [change('approved', 'installing')] : [];
  if (isDone(result, outcome)) {
    const begun = isApproved ? [change('approved', 'installing')] : [];
    return [...begun, change('installing', 'installed')];
  }
  const reason = reasonOf(result) ?? result.status;
  return [change(from, 'failed', outcome === 'not_attempted' ? `not_attempted: ${reason}` : reason)];
}

/** An outcome that is not reported is as the whole result. */
function isDone({ status }: CommandResult, outcome: UpdateOutcome | undefined): boolean {
  if (outcome === undefined) return status === 'success';
  return outcome === 'installed' || outcome === 'already_installed';
}

function reasonOf({ reason }: CommandResult): string | null {
  return reason?.slice(0, REASON_MAX_CHARS) ?? null;
}

async function appendOutcome(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  of: {
    command: CommandRow;
    result: CommandResult;
    to: 'installed' | 'failed';
    updateIds: readonly string[];
  },
): Promise<void> {
  const { command, result, to, updateIds } = of;
  const rows = await findUpdates(tx, updateIds.slice(0, EVENT_UPDATES_MAX));
  await appendEvent(tx, platform, {
    kind: 'system',
    type: to === 'installed' ? 'update_installed' : 'update_failed',
    severity: to === 'installed' ? 'info' : 'error',
    component: 'commands',
    agentId: command.agent_id,
    actor: 'agent',
    content: {
      ...namedForEvent([...rows.values()], updateIds.length),
      command_id: command.id,
      ...(to === 'installed' ? {} : { status: result.status, reason: reasonOf(result) }),
    },
  });
}
