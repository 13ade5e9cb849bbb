import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** Most bytes of an unwanted body that are read and dropped to keep the connection open. */
export const DRAIN_MAX_BYTES = 65_536;
/** How long a client may take to read its answer before the connection is cut, in milliseconds. */
const LINGER_MS = 2_000;

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Handles the unread rest of a body after the answer. node:http drains a small rest; otherwise the connection
 * ends with this answer, but not at once: unread bytes would make the kernel reset it before the client has
 * read the answer.
 */
export function leaveUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.readableEnded || !hasBody(request.headers)) return;
  // Without a declared length this is NaN, which counts as large.
  if (Number(request.headers['content-length']) <= DRAIN_MAX_BYTES) return;
  if (!response.headersSent) response.setHeader('connection', 'close');
  let droppedBytes = 0;
  request.on('data', (chunk: Buffer) => {
    droppedBytes += chunk.length;
    if (droppedBytes > DRAIN_MAX_BYTES) request.pause();
  });
  const { socket } = request;
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
