import { Readable } from 'node:stream';
import type { onSendHookHandler } from 'fastify';

/** Most pages of lists are shorter: each piece waits for a turn of the event loop. */
const PIECE_BYTES = 131_072;

/**
 * Sends a long answer piece by piece, the next one when the client has taken the one before: what a client has taken of a
 * piece is not known, and whether it reads at all is judged by that (`unreadBy`).
 */
export const sendInPieces: onSendHookHandler<unknown> = (_request, reply, payload, done) => {
  const isText = typeof payload === 'string';
  if (!isText && !Buffer.isBuffer(payload)) return done(null, payload);
  if (Buffer.byteLength(payload) <= PIECE_BYTES) return done(null, payload);
  const bytes = isText ? Buffer.from(payload) : payload;
  reply.header('content-length', bytes.length);
  done(null, Readable.from(piecesOf(bytes), { objectMode: false }));
};

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
