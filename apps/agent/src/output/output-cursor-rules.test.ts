import { OUTPUT_MAX_CHARS, OUTPUT_MAX_PIECES, OUTPUT_PIECE_MAX_CHARS } from '@tidegate/protocol/agent-api';
import { assert, integer, nat, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { LIVE_OUTPUT_MAX_BYTES } from '../executor/live-output.ts';
import {
  isStale,
  nextPiece,
  type OutputCursor,
  PIECE_MAX_BYTES,
  paceMs,
  withSending,
  withSent,
} from './output-cursor-rules.ts';

const SINCE = '2026-11-22T00:00:00Z';
const cursor = (members: Partial<OutputCursor> = {}): OutputCursor => ({
  ...{ command_id: 'a', since: SINCE, sent: 0, sending: null, pieces: 0 },
  ...members,
});

test('pieces are cut between characters, and together they are what was written', () => {
  assert(
    property(string({ unit: 'binary' }), nat(), integer({ min: 1, max: 9 }), (text, written, step) => {
      const bytes = Buffer.from(text);
      let at = cursor();
      let told = '';
      for (let end = written % (bytes.length + 1); ; end = Math.min(bytes.length, end + step)) {
        const piece = nextPiece(at, bytes.subarray(at.sent, end));
        if (piece !== null) {
          expect(piece.seq).toBe(at.sent);
          told += piece.data;
          at = withSent(withSending(at, piece), piece);
        }
        if (end === bytes.length) break;
      }
      expect(told).toBe(text);
    }),
  );
});

test('an unanswered piece is resent with the same bounds, whatever was written since', () => {
  const bytes = Buffer.from('first second');
  const first = nextPiece(cursor(), bytes.subarray(0, 6));
  expect(first).toEqual({ seq: 0, data: 'first ', end: 6 });
  if (first === null) return;
  const waiting = withSending(cursor(), first);
  expect(nextPiece(waiting, bytes)).toEqual(first);
  expect(nextPiece(waiting, bytes.subarray(0, 3))).toBeNull(); // what is gone cannot be sent
});

test('bytes that are not UTF-8 are sent as U+FFFD', () => {
  expect(nextPiece(cursor(), Uint8Array.of(0x80, 0x80, 0x80, 0x80))?.data).toBe('\ufffd'.repeat(4));
});

test("the longest possible output fits the server's limit", () => {
  expect(PIECE_MAX_BYTES).toBeLessThanOrEqual(OUTPUT_PIECE_MAX_CHARS);
  expect(LIVE_OUTPUT_MAX_BYTES).toBeLessThanOrEqual(OUTPUT_MAX_CHARS);
  let at = cursor();
  for (let nowMs = Date.parse(SINCE); !isStale(at, nowMs); nowMs += paceMs(at)) {
    at = { ...at, pieces: at.pieces + 1 };
  }
  const afterwards = Math.ceil(LIVE_OUTPUT_MAX_BYTES / PIECE_MAX_BYTES);
  expect(at.pieces + afterwards).toBeLessThanOrEqual(OUTPUT_MAX_PIECES);
});
