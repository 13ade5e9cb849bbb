import { OUTPUT_PIECE_MAX_CHARS } from '@tidegate/protocol/agent-api';
import { Count, nullable, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import type { Static } from 'typebox';

/** Most bytes of one piece: each is at most one character, and a piece has to fit the server's. */
export const PIECE_MAX_BYTES = Math.min(48 * 1024, OUTPUT_PIECE_MAX_CHARS);
/**
 * Least time from one piece to the next: half of the budget of `agent_reports` (docs/protocol/limits.md)
 * stays for reports.
 */
const PACE_MS = 1_000;
/** And from so many pieces on, so that the longest installation does not use up what the server keeps. */
const SLOW_PACE_MS = 10_000;
const SLOW_FROM_PIECES = 600;
/** How long an output is looked at that nobody says the end of: the executor has given up by then. */
const UNENDED_MAX_MS = 195 * 60_000;
/** How long the server may be away before what it has not been sent is given up. */
export const FOLLOWED_MAX_MS = 24 * 3_600_000;

/** How far the output of one command has been sent, in bytes of its file. */
export const OutputCursor = strict({
  command_id: Uuid,
  since: Timestamp,
  /** The server has all before it. */
  sent: Count,
  /** Where the piece ends that was sent last and has no answer yet: it goes again with the same bounds. */
  sending: nullable(Count),
  pieces: Count,
});
export type OutputCursor = Static<typeof OutputCursor>;

/** A piece that can be sent; its number is where it begins, so the same bytes always bear the same one. */
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

/** Whether nobody will write on, for all that is known by the clock. */
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
    if ((byte & 0b1100_0000) === 0b1000_0000) continue; // it goes on with a character
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
