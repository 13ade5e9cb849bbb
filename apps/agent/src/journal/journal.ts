import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { AgentEvent, CommandResult } from '@tidegate/protocol/agent-api';
import type { CommandPayload } from '@tidegate/protocol/documents';
import type { CommandAction } from '@tidegate/protocol/states';
import type { HighestSeq, SaveOutcome } from '../identity/config-file.ts';
import { timestamp } from '../platform/clock.ts';
import { errorCode, type FileLayer, realFiles, writeDurably } from '../platform/file-layer.ts';
import { batchOf, EVENT_QUEUE_LIMITS, enqueued, identified, type QueueLimits } from './event-queue-rules.ts';
import {
  encode,
  JOURNAL_NAME,
  type JournalCommand,
  type JournalState,
  loadState,
  OUTPUT_ROOM_BYTES,
  pruned,
  withoutOutput,
} from './journal-state.ts';

/** Default interval for writing the last server time; any other write includes it. */
const SERVER_TIME_STEP_MS = 10 * 60_000;

export type OpenJournal = { ok: true; journal: Journal } | { ok: false; detail: string };

/** A command that was accepted and has no result. */
export interface HandedCommand {
  commandId: string;
  action: CommandAction;
  acceptedAt: string;
  /** Of a reboot: the boot that was to end. */
  bootId: string | null;
}

/** Accepted commands and unreported events. Every change is on disk before the call returns. */
export interface Journal {
  highest(): HighestSeq;
  /** The last signed server time that was seen, or null. */
  serverTime(): string | null;
  isKnown(commandId: string): boolean;
  /** Whether the server has our acknowledgement, and so no reason to redeliver. */
  isAcknowledged(commandId: string): boolean;
  /** Writes "accepted" before anything is done, so that nothing is silently done twice. */
  accept(command: CommandPayload, nowMs: number): SaveOutcome;
  finish(commandId: string, result: CommandResult): SaveOutcome;
  /** Records a redelivery: the server lacks our acknowledgement or result. */
  redelivered(commandId: string): void;
  /** Accepted commands without a result: one that runs now, or that the executor still has. */
  unfinished(): HandedCommand[];
  unacknowledged(): string[];
  acknowledge(commandIds: readonly string[]): SaveOutcome;
  /** Whether an installation ended at this time or later, complete or not. */
  hasInstalledSince(timeMs: number): boolean;
  unreported(): { commandId: string; result: CommandResult }[];
  reported(commandId: string): SaveOutcome;
  /** Takes a newer server time, and writes it when the written one is older by `stepMs`. */
  noteState(state: { epoch: number; server_time: string }, stepMs?: number): SaveOutcome;
  /** Returns the machine that last used this journal, or null, and records the given one. */
  recordMachine(sha256: string): { before: string | null; saved: SaveOutcome };
  queueEvent(event: AgentEvent): SaveOutcome;
  events(): readonly AgentEvent[];
  /** The oldest events that fit one request; a full queue keeps them until `endSending`. */
  beginSending(limits: QueueLimits): readonly AgentEvent[];
  /** Removes them once the server has them. */
  endSending(outcome: { isDelivered: boolean }): SaveOutcome;
}

/** Everything but the time has a default. */
export interface JournalOptions {
  nowMs: number;
  /** The required owner of the file: by default this process's user; null when already checked. */
  ownerUid?: number | null;
  floor?: HighestSeq;
  /** Whether a command was handed to the executor, which outlives the agent: its result is still to come. */
  isHandedOver?: (commandId: string) => boolean;
  /** The present boot: a reboot that was to end another one is still to be reported. */
  bootId?: string;
  files?: FileLayer;
  newId?: () => string;
  queueLimits?: QueueLimits;
  outputRoomBytes?: number;
}

/**
 * Opens the journal of a folder. A command without a result was interrupted by a crash or power cut and gets the
 * result `interrupted`, unless the executor has it. A damaged journal is refused: an empty one would accept replays.
 */
export function openJournal(folder: string, options: JournalOptions): OpenJournal {
  const path = join(folder, JOURNAL_NAME);
  const loaded = loadState(path, options.ownerUid);
  if (!loaded.ok) return loaded;
  const state = loaded.state;
  const floor = options.floor ?? { epoch: 0, seq: 0 };
  if (isHigher(floor, state.highest)) state.highest = floor;
  const journal = journalOf(path, state, options);
  const isHandedOver = options.isHandedOver ?? (() => false);
  for (const command of state.commands) {
    if (command.result !== null || isHandedOver(command.command_id)) continue;
    if (hasEndedBoot(command, options.bootId)) continue;
    const finished = journal.finish(command.command_id, {
      status: 'interrupted',
      reason: 'The agent stopped while this command was running; how far it got is unknown.',
      started_at: command.accepted_at,
      finished_at: timestamp(options.nowMs),
    });
    if (!finished.ok) return finished;
  }
  return { ok: true, journal };
}

function hasEndedBoot({ boot_id: before }: JournalCommand, bootId: string | undefined): boolean {
  return before !== undefined && bootId !== undefined && before !== bootId;
}

function isHigher(a: HighestSeq, b: HighestSeq): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq);
}

function journalOf(path: string, loaded: JournalState, options: JournalOptions): Journal {
  const { files = realFiles, newId = randomUUID, queueLimits: limits = EVENT_QUEUE_LIMITS } = options;
  const outputRoom = options.outputRoomBytes ?? OUTPUT_ROOM_BYTES;
  let state = loaded;
  let writtenServerTime = loaded.server_time;
  let pinned: ReadonlySet<AgentEvent> = new Set();
  let failure: string | null = null;

  function change(members: Partial<JournalState>): SaveOutcome {
    // RT9: what the disk holds after a failed write is unknown; only a new process reads it.
    if (failure !== null) return { ok: false, detail: failure };
    const { state: next, bytes } = encode({ ...state, ...members }, outputRoom);
    try {
      writeDurably(path, bytes, { mode: 0o600, files });
    } catch (error) {
      failure = `${path} cannot be written (${errorCode(error)})`;
      return { ok: false, detail: failure };
    }
    state = next;
    writtenServerTime = next.server_time;
    return { ok: true };
  }

  function changeCommands(ids: readonly string[], members: Partial<JournalCommand>): SaveOutcome {
    const commands = state.commands.map((entry) =>
      ids.includes(entry.command_id) ? { ...entry, ...members } : entry,
    );
    return change({ commands });
  }

  return {
    highest: () => state.highest,
    serverTime: () => state.server_time,
    isKnown: (commandId) => state.commands.some((entry) => entry.command_id === commandId),
    isAcknowledged: (commandId) =>
      state.commands.some((entry) => entry.command_id === commandId && entry.acknowledged),
    accept: (command, nowMs) => {
      const accepted: JournalCommand = {
        command_id: command.command_id,
        action: command.action,
        expires_at: command.expires_at,
        accepted_at: timestamp(nowMs),
        result: null,
        reported: false,
        acknowledged: false,
        ...(command.action === 'reboot' ? { boot_id: command.params.boot_id } : {}),
      };
      const highest = { epoch: command.epoch, seq: command.seq };
      return change({ highest, commands: [...pruned(state.commands, nowMs), accepted] });
    },
    finish: (commandId, result) => changeCommands([commandId], { result, reported: false }),
    redelivered: (commandId) => {
      state = {
        ...state,
        commands: state.commands.map((entry) =>
          entry.command_id === commandId ? { ...entry, acknowledged: false, reported: false } : entry,
        ),
      };
    },
    unfinished: () =>
      state.commands
        .filter(({ result }) => result === null)
        .map(({ command_id: commandId, action, accepted_at: acceptedAt, boot_id: bootId = null }) => ({
          ...{ commandId, action, acceptedAt, bootId },
        })),
    unacknowledged: () =>
      state.commands.filter((entry) => !entry.acknowledged).map((entry) => entry.command_id),
    acknowledge: (commandIds) =>
      commandIds.length === 0 ? { ok: true } : changeCommands(commandIds, { acknowledged: true }),
    hasInstalledSince: (timeMs) =>
      state.commands.some(({ action, result }) => {
        const hasRun = result?.status === 'success' || result?.status === 'failed';
        return action === 'install_update' && hasRun && Date.parse(result.finished_at ?? '') >= timeMs;
      }),
    unreported: () =>
      state.commands.flatMap(({ command_id, result, reported }) =>
        result === null || reported ? [] : [{ commandId: command_id, result }],
      ),
    reported: (commandId) => {
      // The server has the output now.
      const result = state.commands.find((entry) => entry.command_id === commandId)?.result ?? null;
      return changeCommands([commandId], {
        reported: true,
        result: result === null ? null : withoutOutput(result),
      });
    },
    noteState: ({ epoch, server_time }, stepMs = SERVER_TIME_STEP_MS) => {
      const newest =
        state.server_time === null || Date.parse(server_time) > Date.parse(state.server_time)
          ? server_time
          : state.server_time;
      // A new epoch restarts the sequence; its state document ends the commands of the old one.
      if (epoch > state.highest.epoch) return change({ highest: { epoch, seq: 0 }, server_time: newest });
      state = { ...state, server_time: newest };
      const written = writtenServerTime === null ? 0 : Date.parse(writtenServerTime);
      return Date.parse(newest) - written < stepMs ? { ok: true } : change({});
    },
    recordMachine: (sha256) => {
      const before = state.machine_sha256 ?? null;
      return { before, saved: before === sha256 ? { ok: true } : change({ machine_sha256: sha256 }) };
    },
    queueEvent: (event) => {
      const added = identified(event, newId());
      return change({ events: enqueued(state.events, added, { limits, pinned, summaryId: newId() }) });
    },
    events: () => state.events,
    beginSending: (batchLimits) => {
      const batch = batchOf(state.events, batchLimits);
      pinned = new Set(batch);
      return batch;
    },
    endSending: ({ isDelivered }) => {
      const sent = pinned;
      pinned = new Set();
      if (!isDelivered || sent.size === 0) return { ok: true };
      return change({ events: state.events.filter((event) => !sent.has(event)) });
    },
  };
}
