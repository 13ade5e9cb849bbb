import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** Bytes of a body nobody wants that are read and dropped all the same, so that the connection stays open. */
export const DRAIN_MAX_BYTES = 65_536;
/** How long a client may take to read its answer before the connection is cut, in milliseconds. */
const LINGER_MS = 2_000;

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Leaves the rest of a body that the answer did not wait for. A small rest is drained by node:http; otherwise the
 * connection ends with this answer. It is not cut at once: the kernel would reset it over the unread bytes, and a
 * client that still sends would never see why it was refused.
 */
export function leaveUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.readableEnded || !hasBody(request.headers)) return;
  // Without a declared length this is not a number, and no rest of it is small.
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
