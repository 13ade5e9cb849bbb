import { join } from 'node:path';
import { AgentEvent, CommandResult } from '@tidegate/protocol/agent-api';
import { BootId } from '@tidegate/protocol/reboots';
import { Count, nullable, Sha256Hex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { CommandAction } from '@tidegate/protocol/states';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { HighestSeq } from '../identity/config-file.ts';
import { CLOCK_SKEW_MS } from '../platform/clock.ts';
import { ownUid, readTrusted } from '../platform/file-layer.ts';
import { EVENT_QUEUE_LIMITS } from './event-queue-rules.ts';

export const JOURNAL_NAME = 'journal.json';
/** Largest journal that is read. */
const JOURNAL_MAX_BYTES = 64 * 1024 * 1024;
/** Past this size command output is dropped, oldest first, so that the journal stays readable. */
export const OUTPUT_ROOM_BYTES = 16 * 1024 * 1024;
/** Maximum remembered commands; `highest` still refuses replays of dropped ones. */
export const JOURNAL_MAX_COMMANDS = 500;

/** An accepted command, kept as long as it could be replayed. */
export const JournalCommand = strict({
  command_id: Uuid,
  action: CommandAction,
  expires_at: Timestamp,
  accepted_at: Timestamp,
  /** null between "accepted" and the end. */
  result: nullable(CommandResult),
  /** Whether the server has the result. */
  reported: Type.Boolean(),
  /** Whether a check-in has acknowledged the command. */
  acknowledged: Type.Boolean(),
  /** Of a reboot: the boot that it was to end. */
  boot_id: Type.Optional(BootId),
});
export type JournalCommand = Static<typeof JournalCommand>;

/** journal.json. */
export const JournalState = strict({
  v: Type.Literal(1),
  highest: HighestSeq,
  server_time: nullable(Timestamp),
  commands: Type.Array(JournalCommand, { maxItems: JOURNAL_MAX_COMMANDS }),
  events: Type.Array(AgentEvent, { maxItems: 2 * EVENT_QUEUE_LIMITS.events }),
  /** Written by agents that only counted dropped events. */
  events_dropped: Type.Optional(Count),
  /** The machine on which this journal was last used. */
  machine_sha256: Type.Optional(Sha256Hex),
});
export type JournalState = Static<typeof JournalState>;

/** The last signed server time that was written, without opening the journal; null where there is none. */
export function readServerTime(folder: string): string | null {
  const loaded = loadState(join(folder, JOURNAL_NAME));
  return loaded.ok ? loaded.state.server_time : null;
}

/** Reads the journal strictly; an absent one is new, a damaged one is refused: an empty one would accept replays. */
export function loadState(
  path: string,
  ownerUid: number | null = ownUid(),
): { ok: true; state: JournalState } | { ok: false; detail: string } {
  const read = readTrusted(path, { maxBytes: JOURNAL_MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
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
  };
}

/** Drops the output of commands, oldest first, where all of it would not have room. */
export function encode(state: JournalState, room: number): { state: JournalState; bytes: Uint8Array } {
  const encoded = (content: JournalState) => new TextEncoder().encode(JSON.stringify(content));
  const bytes = encoded(state);
  let excess = bytes.length - room;
  if (excess <= 0) return { state, bytes };
  const commands = state.commands.map((entry) => {
    if (excess <= 0 || entry.result === null) return entry;
    const shorter = { ...entry, result: withoutOutput(entry.result) };
    excess -= JSON.stringify(entry).length - JSON.stringify(shorter).length;
    return shorter;
  });
  const shortened = { ...state, commands };
  return { state: shortened, bytes: encoded(shortened) };
}

/** Enough to answer a redelivery. */
export function withoutOutput({ output_tail: _, installed: __, ...kept }: CommandResult): CommandResult {
  return kept;
}

/** Ids are kept until the command has expired; at the limit, reported ones are dropped first. */
export function pruned(commands: readonly JournalCommand[], nowMs: number): JournalCommand[] {
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
