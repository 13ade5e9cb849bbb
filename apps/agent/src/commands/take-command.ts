import { createHash } from 'node:crypto';
import type { CommandPayload } from '@tidegate/protocol/documents';
import type { CommandAction } from '@tidegate/protocol/states';
import { agentEvent } from '../journal/events.ts';
import type { Pause } from '../platform/back-off.ts';
import { timestamp } from '../platform/clock.ts';
import { type Failure, storageFailure } from '../platform/failures.ts';
import { callAgent } from '../session/call-agent.ts';
import { COMMAND_REFUSAL_TEXT, type CommandRefusal, verifyCommand } from '../trust/verify-command.ts';
import type { CommandEnd } from './command-end.ts';
import { deferToHours } from './defer-to-hours.ts';
import { executeCommand, resumeCommand } from './execute-command.ts';
import { reportRunning } from './report-running.ts';
import type { Runtime } from './runtime.ts';

/** Maximum number of refusals remembered, so that each is reported once. */
const REFUSALS_MAX = 1_000;

/** Commands that a host with hours takes in them alone; a repair says so by itself. */
const DEFERRED: readonly CommandAction[] = ['install_update', 'reboot', 'restart_services'];

/** The outcome of one delivered envelope. `waiting`: not now; the server delivers it again. */
export type Taken = { outcome: 'done' | 'refused' | 'known' | 'waiting'; failure: Failure | null };

type Refused = Taken & { isFirst: boolean };

/** Takes delivered envelopes one at a time: verify, persist "accepted", act, persist the result. */
export interface CommandTaker {
  take(delivered: unknown): Promise<Taken>;
  /** Ends what an earlier process of this agent has handed to the executor. */
  resume(): Promise<Failure | null>;
}

/** `pause` waits between retries, until the command expires; `stopping` fires when this process is to end. */
export function createCommandTaker(runtime: Runtime, pause: Pause, stopping: AbortSignal): CommandTaker {
  const refusedOnce = new Set<string>();
  const answered = new Set<string>();
  const { journal, config, log, nowMs } = runtime;

  function refuse(bytes: Uint8Array, reason: CommandRefusal, command: CommandPayload | null): Refused {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const key = `${reason} ${sha256}`;
    if (refusedOnce.has(key)) return { outcome: 'refused', failure: null, isFirst: false };
    if (refusedOnce.size >= REFUSALS_MAX) refusedOnce.clear();
    refusedOnce.add(key);
    log.error('a command was refused', { check: reason, command_id: command?.command_id ?? null });
    const details = { check: reason, envelope_sha256: sha256, command_id: command?.command_id ?? null };
    const text = COMMAND_REFUSAL_TEXT[reason];
    const queued = journal.queueEvent(agentEvent('COMMAND_REFUSED', text, { nowMs: nowMs(), details }));
    return { outcome: 'refused', failure: storageFailure(queued), isFirst: true };
  }

  /** Shows the operator the refusal beside the command, not only as an event. */
  async function answer(command: CommandPayload, reason: CommandRefusal): Promise<void> {
    const key = `${reason} ${command.command_id}`;
    if (answered.has(key)) return;
    const body = { status: 'refused', reason: `${reason}: ${COMMAND_REFUSAL_TEXT[reason]}` };
    const path = `/commands/${command.command_id}/result`;
    const sent = await callAgent(runtime, { method: 'POST', path, body });
    if (!sent.ok && sent.failure.kind !== 'rejected') return; // the next delivery is answered
    if (answered.size >= REFUSALS_MAX) answered.clear();
    answered.add(key);
  }

  /**
   * A signed command for this agent that was accepted before. Until the server has our acknowledgement it is a
   * redelivery; after that the same bytes are a replay. The server may also have lost the acknowledgement (a
   * restored backup), so it is sent again, once.
   */
  function takeAgain(bytes: Uint8Array, reason: CommandRefusal, command: CommandPayload): Taken {
    const { command_id: id } = command;
    if (!journal.isAcknowledged(id)) {
      journal.redelivered(id);
      return { outcome: 'known', failure: null };
    }
    const refused = refuse(bytes, reason, command);
    if (refused.isFirst) journal.redelivered(id);
    return refused;
  }

  async function take(delivered: unknown): Promise<Taken> {
    const bytes = new TextEncoder().encode(JSON.stringify(delivered));
    const judged = verifyCommand(bytes, {
      trusted: config.current().trusted_keys,
      agentId: config.current().agent_id,
      machineSha256: runtime.machineSha256,
      highest: journal.highest(),
      nowMs: nowMs(),
      seen: journal.isKnown,
      strict: config.current().strict,
    });
    if (!judged.ok) {
      const { reason, command } = judged;
      if (command !== null && isReplay(reason) && journal.isKnown(command.command_id)) {
        return takeAgain(bytes, reason, command);
      }
      const taken = refuse(bytes, reason, command);
      if (reason === 'not_yet_valid') return { ...taken, outcome: 'waiting' };
      if (command !== null && command.agent_id === config.current().agent_id) await answer(command, reason);
      return taken;
    }
    const { command } = judged;
    const accepted = journal.accept(command, nowMs());
    if (!accepted.ok) return { outcome: 'waiting', failure: storageFailure(accepted) };
    // config.json keeps the floor in case the journal is lost.
    const mirrored = config.change({ highest_seq: journal.highest() });
    if (!mirrored.ok) return { outcome: 'waiting', failure: storageFailure(mirrored) };
    log.info('command accepted', { action: command.action, command_id: command.command_id });
    const deferred = DEFERRED.includes(command.action) ? deferToHours(runtime) : null;
    const started_at = timestamp(nowMs());
    if (deferred === null) await reportRunning(runtime, command.command_id, { started_at });
    const end = deferred ?? (await executeCommand(runtime, { command, envelope: bytes, pause, stopping }));
    if (end === 'left') return { outcome: 'known', failure: null };
    return { outcome: 'done', failure: await finish(command, end) };
  }

  async function finish(
    { command_id: id, action }: Pick<CommandPayload, 'command_id' | 'action'>,
    end: CommandEnd,
  ): Promise<Failure | null> {
    const failures = [
      storageFailure(journal.finish(id, end.result)),
      ...end.events.map((event) => storageFailure(journal.queueEvent(event))),
      end.failure,
    ];
    const { status, reason = null } = end.result;
    log.info('command ended', { action, command_id: id, status, reason });
    if (action === 'install_update' || action === 'repair') {
      // The packages changed, or a plan was wrong: the next report must include both.
      runtime.plans.forget();
      runtime.probes.followUp();
      await runtime.inventory.scan(null);
    }
    if ((action === 'reboot' || action === 'restart_services') && status !== 'refused') {
      runtime.probes.followUp(); // services began anew
    }
    return failures.find((failure) => failure !== null) ?? null;
  }

  async function resume(): Promise<Failure | null> {
    for (const handed of journal.unfinished()) {
      const { commandId: command_id, action } = handed;
      log.info('a command goes on that an earlier process began', { action, command_id });
      const end = await resumeCommand(runtime, handed, { pause, stopping });
      if (end === 'left') return null;
      const failure = await finish({ command_id, action }, end);
      if (failure !== null) return failure;
    }
    return null;
  }

  return { take, resume };
}

function isReplay(reason: CommandRefusal): boolean {
  return (
    reason === 'stale_seq' || reason === 'stale_epoch' || reason === 'already_seen' || reason === 'expired'
  );
}
