import { Agent, type IncomingMessage, type RequestListener, request as send } from 'node:http';
import { answerFault, answerUnavailable } from './client-faults.ts';
import { hasBody, leaveUnreadBody } from './unread-body.ts';

/** The address of the client, on the connection of a worker alone. */
export const PEER_HEADER = 'x-tidegate-peer';
/** Of one connection, not of the message (RFC 9110, section 7.6.1); and what only a worker says. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'expect', 'trailer', PEER_HEADER],
]);
/** A response has its own framing on each connection. */
const NOT_ANSWERED: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding']);
const IDLE_SOCKETS_MAX = 256;
const IDLE_MS = 30_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Forwards requests over the socket of the server, at most so many at once; others wait. Requests and answers are passed
 * on as they come.
 */
export function createForward({ path, most }: { path: string; most: number }): RequestListener {
  const agent = new Agent({
    ...{ keepAlive: true, maxSockets: most, maxFreeSockets: IDLE_SOCKETS_MAX },
    // The time ends idle connections alone.
    ...{ scheduling: 'lifo', timeout: IDLE_MS },
  });

  return (request, response) => {
    let hasAnswer = false;
    let forwarded: ReturnType<typeof send>;
    try {
      forwarded = send({
        ...{ agent, socketPath: path, method: request.method, path: request.url },
        headers: headersOf(request),
      });
    } catch {
      return answerFault(request, response, 'A header or the address has characters that are not allowed.');
    }
    forwarded.on('response', (answer) => {
      hasAnswer = true;
      if (answer.headers.connection === 'close') response.shouldKeepAlive = false;
      leaveUnreadBody(request, response);
      response.writeHead(answer.statusCode ?? 502, without(answer.rawHeaders, NOT_ANSWERED));
      // A stream says nothing for a while.
      if (answer.headers['content-length'] === undefined) response.flushHeaders();
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    forwarded.on('error', () => {
      // The server answered before it had the whole body, and ended the connection.
      if (hasAnswer) return;
      if (response.headersSent) response.destroy();
      else {
        const detail = 'The server takes no more requests at the moment.';
        answerUnavailable(request, response, { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
      }
    });
    response.once('close', () => {
      if (!response.writableFinished) forwarded.destroy();
    });
    if (!hasBody(request.headers)) return void forwarded.end();
    request.on('error', () => forwarded.destroy());
    request.pipe(forwarded);
  };
}

function headersOf(request: IncomingMessage): string[] {
  const headers = without(request.rawHeaders, NOT_FORWARDED);
  // Otherwise node:http would frame an absent body in chunks.
  if (!hasBody(request.headers) && request.headers['content-length'] === undefined) {
    headers.push('content-length', '0');
  }
  headers.push('connection', 'keep-alive', PEER_HEADER, request.socket.remoteAddress ?? '');
  return headers;
}

function without(rawHeaders: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]];
    if (!names.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}
