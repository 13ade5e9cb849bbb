import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { OpenedFile } from './open-folder.ts';

/** A reader that takes nothing for so long is disconnected. */
const STALL_MS = 30_000;
/** And so is one that is slower than this on the whole. */
const SLOWEST_BYTES_PER_MS = 16;
const CHUNK_BYTES = 64 * 1024;

interface Sending {
  readonly file: Extract<OpenedFile, { kind: 'whole' }>;
  readonly stopping: AbortSignal;
  /** STALL_MS unless a test says otherwise. */
  readonly stallMs?: number;
}

/** Sends a file with its length and closes it. Slow readers are disconnected, and all when the server stops. */
export function sendFile(reply: FastifyReply, { file, stopping, stallMs = STALL_MS }: Sending): FastifyReply {
  const { handle, bytes } = file;
  const { raw: response } = reply;
  // Its reader went away while it was hashed: no later event would clear the timer.
  if (response.destroyed) {
    void handle.close();
    return reply.hijack();
  }
  const content =
    bytes === 0
      ? Readable.from([])
      : handle.createReadStream({ start: 0, end: bytes - 1, highWaterMark: CHUNK_BYTES, autoClose: false });
  const cut = () => void response.destroy();
  const late = setTimeout(cut, stallMs + bytes / SLOWEST_BYTES_PER_MS);
  let sent = 0;
  content.on('data', (chunk: Buffer) => {
    sent += chunk.length;
  });
  // The file has become shorter: without this the reader would wait for the rest.
  content.once('end', () => sent < bytes && cut());
  response.setTimeout(stallMs, cut);
  stopping.addEventListener('abort', cut, { once: true });
  response.once('close', () => {
    clearTimeout(late);
    stopping.removeEventListener('abort', cut);
    content.destroy();
    void handle.close();
  });
  return reply.header('content-length', bytes).send(content);
}
