import { existsSync } from 'node:fs';
import { outputPath, resultPath } from '../jobs/job-folder.ts';
import { backOffMs, type Sleep } from '../platform/back-off.ts';
import { timestamp } from '../platform/clock.ts';
import { describeFailure, type Outcome } from '../platform/failures.ts';
import { readTrustedPart } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import {
  isGivenUp,
  isStale,
  nextPiece,
  type OutputCursor,
  type OutputPiece,
  PIECE_MAX_BYTES,
  paceMs,
  withSending,
  withSent,
} from './output-cursor-rules.ts';
import { loadCursors, OUTPUTS_MAX, saveCursors } from './output-cursors.ts';

/** Poll interval: the writer is another process, and file events are not available everywhere. */
const LOOK_EVERY_MS = 1_000;
/** Failures after which waits stop growing, so that live output resumes soon after the server is back. */
const FAILURES_MAX = 4;

export interface OutputParts {
  /** The file that stores how far each output was sent. */
  folder: string;
  /** The executor's folder; null where there is no executor. */
  executorState: string | null;
  /** The trusted owner of outputs; null where files have no owners. */
  writerUid: number | null;
  send: (commandId: string, piece: OutputPiece) => Promise<Outcome<unknown>>;
  sleep: Sleep;
  nowMs: () => number;
  random: () => number;
  log: Log;
}

/**
 * Streams the output of running installations to the server. Best effort: it runs concurrently, nothing waits for
 * it, and its failures affect nothing else.
 */
export interface OutputFollower {
  /** Resumes from the cursors of an earlier start. */
  resume(): void;
  /** Follows a command's output; `end` means that nothing more will be written. */
  follow(commandId: string): { end(): void };
  /** Resolves when all current output was sent, or after `withinMs`. Following stops. */
  settle(withinMs: number): Promise<void>;
  /** Stops after the current request; a later start resumes. */
  stop(): Promise<void>;
}

/** The next step for one output. */
type Look = { next: 'piece'; piece: OutputPiece } | { next: 'later' } | { next: 'drop'; why?: string };

export function createOutputFollower(parts: OutputParts): OutputFollower {
  const { folder, executorState, log, nowMs } = parts;
  const ended = new Set<string>();
  const stopping = new AbortController();
  let cursors: OutputCursor[] = [];
  let working: Promise<void> | null = null;
  let news = new AbortController();
  let failures = 0;
  let isSettling = false;

  async function work(): Promise<void> {
    while (!stopping.signal.aborted && cursors.length > 0) {
      const waitMs = await sendNext();
      if (stopping.signal.aborted || cursors.length === 0 || (waitMs === null && isSettling)) break;
      news = new AbortController();
      // New output does not shorten a Retry-After.
      if (failures > 0) await parts.sleep(waitMs ?? LOOK_EVERY_MS, stopping.signal);
      else if (!isSettling) await parts.sleep(waitMs ?? LOOK_EVERY_MS, news.signal);
    }
    working = null;
  }

  /** Sends one piece of the oldest pending output. Returns the next wait, or null when nothing is pending. */
  async function sendNext(): Promise<number | null> {
    for (const cursor of cursors) {
      const look = lookAt(cursor);
      if (look.next === 'drop') drop(cursor, look.why);
      if (look.next !== 'piece') continue;
      const { piece } = look;
      if (!change(withSending(cursor, piece))) return null;
      const answer = await parts.send(cursor.command_id, piece);
      if (answer.ok) {
        failures = 0;
        const sent = withSent(cursor, piece);
        change(sent);
        return paceMs(sent);
      }
      const { failure } = answer;
      if (failure.kind === 'rejected') {
        drop(cursor, describeFailure(failure)); // the command is not known there any more, or the piece is not sound
        continue;
      }
      if (failure.kind !== 'retryable') {
        halt(); // the polling meets it as well, and ends the agent; nothing more is asked with tokens that are no good
        return null;
      }
      failures = Math.min(failures + 1, FAILURES_MAX);
      return backOffMs(failures, parts.random(), failure.retryAfterMs);
    }
    return null;
  }

  function lookAt(cursor: OutputCursor): Look {
    const { command_id: id, sent } = cursor;
    if (executorState === null) return { next: 'drop' };
    if (isGivenUp(cursor, nowMs())) return { next: 'drop', why: 'the server did not take it for too long' };
    // Checked before reading, so that the read includes everything written before the end.
    const isOver = ended.has(id) || existsSync(resultPath(executorState, id)) || isStale(cursor, nowMs());
    const read = readTrustedPart(outputPath(executorState, id), sent, {
      maxBytes: PIECE_MAX_BYTES,
      ownerUid: parts.writerUid,
      forbiddenMode: 0o022,
    });
    if (!read.ok && read.reason !== 'absent') return { next: 'drop', why: read.detail };
    const piece = read.ok ? nextPiece(cursor, read.bytes) : null;
    if (piece !== null) return { next: 'piece', piece };
    return { next: isOver ? 'drop' : 'later' };
  }

  /** False when the cursor cannot be stored: a piece could be resent with different bounds. */
  function change(cursor: OutputCursor): boolean {
    return keep(cursors.map((one) => (one.command_id === cursor.command_id ? cursor : one)));
  }

  function drop({ command_id: id }: OutputCursor, why?: string): void {
    if (why !== undefined)
      log.warn('the live output of a command is incomplete', { command_id: id, reason: why });
    ended.delete(id);
    keep(cursors.filter(({ command_id }) => command_id !== id));
  }

  function keep(next: OutputCursor[]): boolean {
    const saved = saveCursors(folder, next);
    if (!saved.ok) log.warn('live outputs are not sent', { reason: saved.detail });
    cursors = saved.ok ? next : [];
    return saved.ok;
  }

  function halt(): void {
    stopping.abort();
    news.abort();
  }

  function start(): void {
    if (!stopping.signal.aborted && cursors.length > 0) working ??= work();
  }

  return {
    resume: () => {
      cursors = loadCursors(folder);
      start();
    },
    follow: (commandId) => {
      const cursor = { command_id: commandId, since: timestamp(nowMs()), sent: 0, sending: null, pieces: 0 };
      if (keep([...cursors.slice(1 - OUTPUTS_MAX), cursor])) start();
      return {
        end: () => {
          ended.add(commandId);
          news.abort();
        },
      };
    },
    settle: async (withinMs) => {
      isSettling = true;
      news.abort();
      const late = new AbortController();
      await Promise.race([working, parts.sleep(withinMs, late.signal)]);
      late.abort();
      halt();
    },
    stop: async () => {
      halt();
      await working;
    },
  };
}
