import type { ServerResponse } from 'node:http';

/** An answer of status 200 whose body is JSON text already, with nothing in it beyond ASCII. */
export interface ReadyAnswer {
  requestId: string;
  text: string;
  nowMs: number;
}

/** How long a connection may rest between two requests, in milliseconds: longer than the interval of check-ins. */
export const KEEP_ALIVE_MS = 75_000;

const OWN_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};
/** With what node:http adds to a response of a connection that stays open. */
const FIXED_HEADERS = Object.entries({
  ...OWN_HEADERS,
  connection: 'keep-alive',
  'keep-alive': `timeout=${KEEP_ALIVE_MS / 1_000}`,
})
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

/**
 * Ends a response with an answer that is ready. Where the connection stays open and owes nobody anything, head and
 * body go to it in one write, past the machinery of node:http for headers and streams, which costs as much as the
 * rest of an idle check-in; everywhere else (a request that was sent before the last one was answered, a client that
 * reads slowly, `connection: close`) node:http writes it.
 */
export function answerReady(response: ServerResponse, { requestId, text, nowMs }: ReadyAnswer): void {
  const { socket } = response;
  // Without a socket, it is not this response's turn yet.
  if (socket === null || !socket.writable || socket.writableLength > 0 || !response.shouldKeepAlive) {
    response.writeHead(200, {
      'x-request-id': requestId,
      'content-length': text.length,
      ...OWN_HEADERS,
    });
    response.end(text, 'latin1');
    return;
  }
  socket.write(
    `HTTP/1.1 200 OK\r\nx-request-id: ${requestId}\r\ncontent-length: ${text.length}\r\n` +
      `date: ${dateText(nowMs)}\r\n${FIXED_HEADERS}\r\n${text}`,
    'latin1',
  );
  // By this event node:http takes the connection back: next request, keep-alive timer. Not before the kernel has all
  // of the answer, or a client that never reads could have answers pile up.
  if (socket.writableLength === 0) response.emit('finish');
  else socket.write('', 'latin1', (error) => void (error || response.emit('finish')));
}

let last = { second: 0, text: new Date(0).toUTCString() };

/** RFC 9110, section 6.6.1; made anew each second. */
function dateText(nowMs: number): string {
  const second = Math.floor(nowMs / 1_000);
  if (second !== last.second) last = { second, text: new Date(nowMs).toUTCString() };
  return last.text;
}
