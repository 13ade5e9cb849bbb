import { OUTPUT_PIECE_MAX_CHARS } from '@tidegate/protocol/agent-api';
import { Count, nullable, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import type { Static } from 'typebox';

/** Maximum bytes of a piece: each is at most one character, and the server limits characters. */
export const PIECE_MAX_BYTES = Math.min(48 * 1024, OUTPUT_PIECE_MAX_CHARS);
/**
 * Least time from one piece to the next: half of the budget of `agent_reports` (docs/protocol/limits.md)
 * stays for reports.
 */
const PACE_MS = 1_000;
/** Longer interval after this many pieces, so that the longest installation stays within the server's limit. */
const SLOW_PACE_MS = 10_000;
const SLOW_FROM_PIECES = 600;
/** How long an output without an end is followed: the executor has given up by then. */
const UNENDED_MAX_MS = 195 * 60_000;
/** How long the server may be unreachable before unsent output is dropped. */
export const FOLLOWED_MAX_MS = 24 * 3_600_000;

/** How far the output of one command has been sent, in bytes of its file. */
export const OutputCursor = strict({
  command_id: Uuid,
  since: Timestamp,
  /** The server has all before it. */
  sent: Count,
  /** End of the last piece without an answer; it is resent with the same bounds. */
  sending: nullable(Count),
  pieces: Count,
});
export type OutputCursor = Static<typeof OutputCursor>;

/** A piece to send; its number is its start offset, so the same bytes always have the same number. */
export interface OutputPiece {
  seq: number;
  data: string;
  end: number;
}

/** The next piece of what follows the cursor in its file; null while there is no whole character. */
export function nextPiece({ sent, sending }: OutputCursor, bytes: Uint8Array): OutputPiece | null {
  const length = sending === null ? wholeLength(bytes.subarray(0, PIECE_MAX_BYTES)) : sending - sent;
  if (length === 0 || length > bytes.length) return null;
  const data = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, length));
  return { seq: sent, data, end: sent + length };
}

export function withSending(cursor: OutputCursor, { end }: OutputPiece): OutputCursor {
  return { ...cursor, sending: end };
}

export function withSent(cursor: OutputCursor, { end }: OutputPiece): OutputCursor {
  return { ...cursor, sent: end, sending: null, pieces: cursor.pieces + 1 };
}

/** How long after this many pieces the next one may go. */
export function paceMs({ pieces }: OutputCursor): number {
  return pieces < SLOW_FROM_PIECES ? PACE_MS : SLOW_PACE_MS;
}

/** Whether the writer must have ended, judging by time. */
export function isStale({ since }: OutputCursor, nowMs: number): boolean {
  return nowMs - Date.parse(since) > UNENDED_MAX_MS;
}

export function isGivenUp({ since }: OutputCursor, nowMs: number): boolean {
  return nowMs - Date.parse(since) > FOLLOWED_MAX_MS;
}

/** How many bytes are whole characters: the writer may be in the middle of the last one. */
function wholeLength(bytes: Uint8Array): number {
  const first = Math.max(0, bytes.length - 3);
  for (let at = bytes.length - 1; at >= first; at--) {
    const byte = bytes[at] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // continuation byte
    return bytes.length - at < lengthOf(byte) ? at : bytes.length;
  }
  return bytes.length;
}

/** How long the character is that begins with this byte. */
function lengthOf(byte: number): number {
  if (byte >= 0b1111_0000) return 4;
  if (byte >= 0b1110_0000) return 3;
  return byte >= 0b1100_0000 ? 2 : 1;
}
