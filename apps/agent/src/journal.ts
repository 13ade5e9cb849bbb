import { join } from 'node:path';
import { AgentEvent, CommandResult } from '@tidegate/protocol/agent-api';
import type { CommandPayload } from '@tidegate/protocol/documents';
import { Count, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { CommandAction } from '@tidegate/protocol/states';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { CLOCK_SKEW_MS, timestamp } from './clock.ts';
import { HighestSeq, type SaveOutcome } from './config-file.ts';
import { errorCode, type FileLayer, ownUid, readTrusted, realFiles, writeDurably } from './file-layer.ts';

const JOURNAL_NAME = 'journal.json';
const JOURNAL_MAX_BYTES = 64 * 1024 * 1024;
/** Most commands that are remembered; `highest` still refuses a replay of those that were dropped. */
export const JOURNAL_MAX_COMMANDS = 500;
/** Most events that wait for the server; the oldest go first. */
export const JOURNAL_MAX_EVENTS = 500;
/** The last server time is written this often, or at once with anything else. */
const SERVER_TIME_STEP_MS = 10 * 60_000;

const JournalCommand = strict({
  command_id: Uuid,
  action: CommandAction,
  expires_at: Timestamp,
  accepted_at: Timestamp,
  /** null between "accepted" and the end. */
  result: Type.Union([CommandResult, Type.Null()]),
  /** Whether the server has the result. */
  reported: Type.Boolean(),
  /** Whether a check-in has told the server that the command arrived. */
  acknowledged: Type.Boolean(),
});
type JournalCommand = Static<typeof JournalCommand>;

const JournalState = strict({
  v: Type.Literal(1),
  highest: HighestSeq,
  server_time: Type.Union([Timestamp, Type.Null()]),
  commands: Type.Array(JournalCommand, { maxItems: JOURNAL_MAX_COMMANDS }),
  events: Type.Array(AgentEvent, { maxItems: JOURNAL_MAX_EVENTS }),
  events_dropped: Count,
});
type JournalState = Static<typeof JournalState>;

export type OpenJournal = { ok: true; journal: Journal } | { ok: false; detail: string };

/** What this host accepted and has yet to report. Every change is on disk before the call returns. */
export interface Journal {
  highest(): HighestSeq;
  /** The last signed server time that was seen, or null. */
  serverTime(): string | null;
  isKnown(commandId: string): boolean;
  /** Whether the server has our word that the command arrived, and so has no reason to deliver it again. */
  isAcknowledged(commandId: string): boolean;
  /** Writes "accepted" before anything is done, so that nothing is silently done twice. */
  accept(command: CommandPayload, nowMs: number): SaveOutcome;
  finish(commandId: string, result: CommandResult): SaveOutcome;
  /** Notes that a known command was delivered again: the server lacks our acknowledgement or result. */
  redelivered(commandId: string): void;
  unacknowledged(): string[];
  acknowledge(commandIds: readonly string[]): SaveOutcome;
  unreported(): { commandId: string; result: CommandResult }[];
  reported(commandId: string): SaveOutcome;
  noteState(state: { epoch: number; server_time: string }): SaveOutcome;
  queueEvent(event: AgentEvent): SaveOutcome;
  events(): readonly AgentEvent[];
  /** Forgets the oldest events, which the server has now. */
  dropEvents(count: number): SaveOutcome;
}

/**
 * Opens the journal of a folder. A command that was accepted and has no result was cut short by a crash or power cut:
 * it is finished as `interrupted` here. A damaged journal is refused: an empty one would accept replays.
 */
export function openJournal(
  folder: string,
  options: { nowMs: number; floor?: HighestSeq; files?: FileLayer },
): OpenJournal {
  const path = join(folder, JOURNAL_NAME);
  const loaded = loadState(path);
  if (!loaded.ok) return loaded;
  const state = loaded.state;
  const floor = options.floor ?? { epoch: 0, seq: 0 };
  if (isHigher(floor, state.highest)) state.highest = floor;
  const journal = journalOf(path, state, options.files ?? realFiles);
  for (const command of state.commands.filter((entry) => entry.result === null)) {
    const finished = journal.finish(command.command_id, {
      status: 'interrupted',
      reason: 'The agent stopped while this command was running; what it had done by then is unknown.',
      started_at: command.accepted_at,
      finished_at: timestamp(options.nowMs),
    });
    if (!finished.ok) return finished;
  }
  return { ok: true, journal };
}

function loadState(path: string): { ok: true; state: JournalState } | { ok: false; detail: string } {
  const read = readTrusted(path, { maxBytes: JOURNAL_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 });
  if (!read.ok) return read.reason === 'absent' ? { ok: true, state: emptyState() } : read;
  const parsed = parseStrictJson(read.bytes);
  if (parsed.ok && Check(JournalState, parsed.value)) return { ok: true, state: parsed.value };
  return {
    ok: false,
    detail: `${path} is damaged. It guards against replayed commands; revoke this agent and enrol it again`,
  };
}

function emptyState(): JournalState {
  return {
    v: 1,
    highest: { epoch: 0, seq: 0 },
    server_time: null,
    commands: [],
    events: [],
    events_dropped: 0,
  };
}

function isHigher(a: HighestSeq, b: HighestSeq): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq);
}

function journalOf(path: string, loaded: JournalState, files: FileLayer): Journal {
  let state = loaded;
  let writtenServerTime = loaded.server_time;

  function change(members: Partial<JournalState>): SaveOutcome {
    const next = { ...state, ...members };
    try {
      writeDurably(path, new TextEncoder().encode(JSON.stringify(next)), { mode: 0o600, files });
    } catch (error) {
      return { ok: false, detail: `${path} cannot be written (${errorCode(error)})` };
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
    unacknowledged: () =>
      state.commands.filter((entry) => !entry.acknowledged).map((entry) => entry.command_id),
    acknowledge: (commandIds) =>
      commandIds.length === 0 ? { ok: true } : changeCommands(commandIds, { acknowledged: true }),
    unreported: () =>
      state.commands.flatMap(({ command_id, result, reported }) =>
        result === null || reported ? [] : [{ commandId: command_id, result }],
      ),
    reported: (commandId) => {
      // The server has the output now; what is kept is enough to answer a redelivery.
      const result = state.commands.find((entry) => entry.command_id === commandId)?.result ?? null;
      const { output_tail: _, installed: __, ...kept } = result ?? { status: 'interrupted' };
      return changeCommands([commandId], { reported: true, result: result === null ? null : kept });
    },
    noteState: ({ epoch, server_time }) => {
      const newest =
        state.server_time === null || Date.parse(server_time) > Date.parse(state.server_time)
          ? server_time
          : state.server_time;
      // A new incarnation of the server counts anew; its state document ends the commands of the last one.
      if (epoch > state.highest.epoch) return change({ highest: { epoch, seq: 0 }, server_time: newest });
      state = { ...state, server_time: newest };
      const written = writtenServerTime === null ? 0 : Date.parse(writtenServerTime);
      return Date.parse(newest) - written < SERVER_TIME_STEP_MS ? { ok: true } : change({});
    },
    queueEvent: (event) => {
      const kept = state.events.slice(-(JOURNAL_MAX_EVENTS - 1));
      const events_dropped = state.events_dropped + state.events.length - kept.length;
      return change({ events: [...kept, event], events_dropped });
    },
    events: () => state.events,
    dropEvents: (count) => (count === 0 ? { ok: true } : change({ events: state.events.slice(count) })),
  };
}

/** Ids are kept until the command could not be valid any more; at the limit, what the server has goes first. */
function pruned(commands: readonly JournalCommand[], nowMs: number): JournalCommand[] {
  const alive = commands.filter(
    (entry) => !entry.reported || Date.parse(entry.expires_at) + 2 * CLOCK_SKEW_MS > nowMs,
  );
  const excess = alive.length - (JOURNAL_MAX_COMMANDS - 1);
  if (excess <= 0) return alive;
  const dropped = new Set(
    [...alive.filter((entry) => entry.reported), ...alive.filter((entry) => !entry.reported)].slice(
      0,
      excess,
    ),
  );
  return alive.filter((entry) => !dropped.has(entry));
}
