import { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { isFinished, mayRetry } from './command-rules.ts';
import { updatesOfCommand } from './named-updates.ts';
import { queueCommand } from './queue-command.ts';
import { type CommandRow, callOffReboot, compareAndSwapStatus, stillApproved } from './store.ts';
import { returnToPending, withdrawApprovals } from './withdraw-approvals.ts';

/** `called_off`: the agent has it, and is asked to end it; its result decides. */
export type CancelOutcome = 'cancelled' | 'called_off' | 'finished' | 'with_agent';
export type RetryOutcome = { kind: 'queued'; commandId: string } | { kind: 'refused'; detail: string };

const Params = Type.Record(Type.String(), Type.Unknown());

/**
 * Cancels a command that its agent has not acknowledged, or has a reboot called off that has not begun (decision 0057). The updates of an install command return to
 * `pending`, and their token is void.
 */
export async function cancelCommand(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { command, by }: { command: CommandRow; by: string },
): Promise<CancelOutcome> {
  const change = { status: 'cancelled', reason: `cancelled by ${by}`, finished_at: platform.now() };
  if (
    !(await compareAndSwapStatus(tx, {
      id: command.id,
      from: ['pending', 'sent'],
      change,
      nowMs: platform.now(),
    }))
  ) {
    const reason = `${by} asked the host to call it off`;
    if (await callOffReboot(tx, { id: command.id, reason, nowMs: platform.now() })) return 'called_off';
    return isFinished(Value.Parse(CommandStatus, command.status)) ? 'finished' : 'with_agent';
  }
  const updateIds = updatesOfCommand(command);
  const move = { reason: 'command_cancelled', actor: by };
  if (command.action === 'install_update') {
    await withdrawApprovals(tx, platform, { ...move, updateIds });
    await returnToPending(tx, platform, { ...move, updateIds });
  }
  if (command.action === 'plan_update') {
    for (const updateId of updateIds) {
      await transitionUpdate(tx, platform, { ...move, updateId, from: ['awaiting_plan'], to: 'pending' });
    }
  }
  return 'cancelled';
}

/**
 * Retries a command that ended without success, as a new command. An install needs a live approval; without
 * one the update must be judged and approved again.
 */
export async function retryCommand(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { command, by }: { command: CommandRow; by: string },
): Promise<RetryOutcome> {
  const refused = (detail: string) => ({ kind: 'refused', detail }) as const;
  if (!mayRetry(Value.Parse(CommandStatus, command.status))) {
    return refused('Only a command that ended without success is retried.');
  }
  const { approval_id: tokenId, approval_sha256: sha256 } = command;
  const action = Value.Parse(CommandAction, command.action);
  if (action === 'repair') {
    return refused('A repair is ordered anew, for what the host reports by now.');
  }
  if (action === 'install_update') {
    const live = await stillApproved(tx, { commandIds: [command.id], nowMs: platform.now() });
    if (!live.has(command.id))
      return refused('Its approval is over: reopen the update and approve it again.');
  }
  const params = Value.Parse(Params, JSON.parse(command.params));
  const commandId = await queueCommand(tx, platform, {
    agentId: command.agent_id,
    action,
    params,
    approval: tokenId === null || sha256 === null ? null : { tokenId, sha256 },
    createdBy: by,
  });
  return { kind: 'queued', commandId };
}
