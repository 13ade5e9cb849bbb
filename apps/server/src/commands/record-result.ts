import type { CommandResult } from '@tidegate/protocol/agent-api';
import { CommandStatus } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { endSlot } from '../reboot-slots/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import type { CommandAnswer } from './command-answer.ts';
import { judgeResult } from './command-rules.ts';
import { moveInstalled } from './move-installed.ts';
import { updatesOfCommand } from './named-updates.ts';
import { queueCommand } from './queue-command.ts';
import { type CommandRow, compareAndSwapStatus, findCommand, stillApproved } from './store.ts';

/** Minimum pause before redelivery, whatever the agent requests, in milliseconds. */
const RETRY_MIN_MS = 60_000;
/** Maximum length of an agent's text in an event, in characters. */
const REASON_MAX_CHARS = 1_000;

type ResultMeans = Pick<Platform, 'database' | 'newId' | 'now'>;

export type ResultOutcome =
  | { kind: 'recorded'; status: CommandStatus }
  | { kind: 'finished'; status: CommandStatus }
  | { kind: 'unknown' }
  /** What of it does not go with the command. */
  | { kind: 'wrong'; path: string; message: string };

/**
 * Records an agent's result of a command, and moves the updates of the command. The commands of others, and
 * those that the agent was never given, are unknown to it.
 */
export async function recordResult(
  tx: Tx,
  platform: ResultMeans,
  { agentId, commandId, result }: { agentId: string; commandId: string; result: CommandResult },
): Promise<ResultOutcome> {
  const command = await findCommand(tx, commandId);
  if (command?.agent_id !== agentId) return { kind: 'unknown' };
  const named = new Set(updatesOfCommand(command));
  const index = (result.updates ?? []).findIndex(({ update_id: id }) => !named.has(id));
  if (index !== -1) {
    const path = `/updates/${index}/update_id`;
    return { kind: 'wrong', path, message: 'must be an update that the command names' };
  }
  if (result.installing_at !== undefined && command.action !== 'install_update') {
    return { kind: 'wrong', path: '/installing_at', message: 'is allowed only of an installation' };
  }
  const status = Value.Parse(CommandStatus, command.status);
  const verdict = judgeResult(status, result.status);
  switch (verdict.kind) {
    case 'unsent':
      return { kind: 'unknown' };
    case 'finished':
      return { kind: 'finished', status };
    case 'repeated':
      if (result.installing_at === undefined || command.installing_at !== null) {
        return { kind: 'recorded', status };
      }
      break;
    case 'move':
      break;
  }
  const isMove = verdict.kind === 'move';
  const change = { ...timesOf(command, result), ...(isMove ? changeOf(result, platform.now()) : {}) };
  // Of two concurrent results one wins; the other is judged against the new state.
  if (!(await compareAndSwapStatus(tx, { id: commandId, from: [status], change, nowMs: platform.now() }))) {
    return recordResult(tx, platform, { agentId, commandId, result });
  }
  if (isMove) await moveUpdates(tx, platform, { command, result });
  return { kind: 'recorded', status: result.status };
}

/** Of each time, the first that the host says counts. */
function timesOf(
  { action, ...before }: CommandRow,
  result: CommandResult,
): Pick<CommandRow, 'started_at' | 'installing_at'> {
  const startedMs = timeOf(result.started_at);
  const installingMs = timeOf(result.installing_at);
  // A package manager runs after the download: its result says when, if the host could not say so before.
  const isRun = action === 'install_update' && result.exit_code !== undefined;
  const isLater = before.started_at !== null && startedMs !== null && startedMs > before.started_at;
  const known = before.installing_at ?? installingMs ?? (isRun && isLater ? startedMs : null);
  return {
    started_at: before.started_at ?? startedMs,
    installing_at: known === null ? null : Math.max(known, before.started_at ?? known),
  };
}

function timeOf(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

function changeOf(result: CommandResult, nowMs: number) {
  const finished = result.status !== 'running';
  return {
    status: result.status,
    ...(finished ? { finished_at: result.finished_at ? Date.parse(result.finished_at) : nowMs } : {}),
    ...(result.reason === undefined ? {} : { reason: result.reason }),
    ...(result.exit_code === undefined ? {} : { exit_code: result.exit_code }),
    ...(result.output_tail === undefined ? {} : { output_tail: result.output_tail }),
    ...(result.installed === undefined ? {} : { installed: JSON.stringify(result.installed) }),
    ...(result.way_back === undefined ? {} : { way_back: JSON.stringify(result.way_back) }),
    ...(result.restarts === undefined ? {} : { restarts: JSON.stringify(result.restarts) }),
    ...(result.probes === undefined ? {} : { probes: JSON.stringify(result.probes) }),
    ...(result.hooks === undefined ? {} : { hooks: JSON.stringify(result.hooks) }),
    ...answerOf(result),
  };
}

/** What a reboot or a restart of services came to. */
function answerOf({ boot_id, blockers, units, retry_at }: CommandResult): { answer?: string } {
  const answer: CommandAnswer = {
    ...(boot_id === undefined ? {} : { boot_id }),
    ...(blockers === undefined ? {} : { blockers }),
    ...(units === undefined ? {} : { units }),
    ...(retry_at === undefined ? {} : { retry_at }),
  };
  return Object.keys(answer).length === 0 ? {} : { answer: JSON.stringify(answer) };
}

interface Reported {
  command: CommandRow;
  result: CommandResult;
}

async function moveUpdates(tx: Tx, platform: ResultMeans, reported: Reported): Promise<void> {
  const { command, result } = reported;
  if (command.action === 'plan_update' && result.status !== 'running' && result.status !== 'success') {
    const [updateId = '', ...others] = updatesOfCommand(command);
    // Of several updates one may be in the way of the others: the sweep plans smaller sets.
    if (others.length === 0) {
      await transitionUpdate(tx, platform, {
        updateId,
        from: ['awaiting_plan'],
        to: 'pending',
        reason: `plan_failed: ${(result.reason ?? result.status).slice(0, REASON_MAX_CHARS)}`,
        actor: 'agent',
      });
    }
  }
  if (command.action === 'repair' && result.status !== 'running') {
    const { status, reason = '' } = result;
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'repair_ended', component: 'commands' },
      severity: status === 'success' ? 'info' : 'warning',
      ...{ agentId: command.agent_id, actor: 'agent' },
      content: { command_id: command.id, status, reason: reason.slice(0, REASON_MAX_CHARS) },
    });
  }
  if (command.action === 'reboot' && result.status === 'refused') {
    // Others of the group wait for the slot of a host that something keeps from rebooting.
    const of = { commandId: command.id };
    const end = { outcome: 'not_rebooted', by: 'agent', nowMs: platform.now() } as const;
    await endSlot(tx, { of, from: ['held'], ...end });
  }
  if (command.action === 'install_update' && !(await deliveredLater(tx, platform, reported))) {
    await moveInstalled(tx, platform, reported);
  }
}

/**
 * Schedules a new delivery at the start of the host's next install hours, if the host has not begun and the
 * approval lives until then. False: the refusal is final.
 */
async function deliveredLater(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { command, result }: Reported,
): Promise<boolean> {
  const { approval_id: tokenId, approval_sha256: sha256 } = command;
  if (result.status !== 'refused' || result.retry_at === undefined) return false;
  if (tokenId === null || sha256 === null) return false;
  const notBeforeMs = Math.max(Date.parse(result.retry_at), platform.now() + RETRY_MIN_MS);
  const live = await stillApproved(tx, { commandIds: [command.id], nowMs: notBeforeMs });
  if (!live.has(command.id)) return false;
  await queueCommand(tx, platform, {
    agentId: command.agent_id,
    action: 'install_update',
    params: { update_ids: updatesOfCommand(command) },
    approval: { tokenId, sha256 },
    notBeforeMs,
    createdBy: command.created_by,
  });
  return true;
}
