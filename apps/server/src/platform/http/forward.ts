import {
  Agent,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as send,
} from 'node:http';
import { answerFault, answerUnavailable } from './client-faults.ts';
import { hasBody, leaveUnreadBody } from './unread-body.ts';
import { createUntakenAnswers, type UntakenAnswers } from './untaken-answers.ts';

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

/** Share of the connections to the server for requests whose bodies are still to come. */
const UNFINISHED_SHARE = 0.25;
/** Between two looks whether requests wait for connections, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** Connections to the server, and the answers that come over them. */
interface Lane {
  agent: Agent;
  answers: UntakenAnswers;
}

/**
 * Forwards requests over the socket of the server, at most so many at once; others wait. A small body is read before,
 * requests whose larger bodies are still to come have connections of their own, and answers that nobody takes end while
 * others wait: slow clients keep no other request from the server. Otherwise requests and answers are passed on as they come.
 */
export function createForward({ path, most }: { path: string; most: number }): RequestListener {
  const unfinishedMax = Math.ceil(most * UNFINISHED_SHARE);
  const unfinished = createLane(unfinishedMax);
  const whole = createLane(Math.max(1, most - unfinishedMax));
  setInterval(() => {
    for (const { agent, answers } of [unfinished, whole]) answers.end(waitingFor(agent));
  }, LOOK_EVERY_MS).unref();
  return (request, response) => {
    const { headers } = request;
    if (!hasBody(headers)) return forward(request, response, { lane: whole, path });
    // The server refuses most of these by their headers.
    if (Number(headers['content-length']) > request.readableHighWaterMark) {
      return forward(request, response, { lane: unfinished, path });
    }
    onceBuffered(request, () =>
      forward(request, response, { lane: request.complete ? whole : unfinished, path }),
    );
  };
}

function createLane(maxSockets: number): Lane {
  const agent = new Agent({
    ...{ keepAlive: true, maxSockets, maxFreeSockets: IDLE_SOCKETS_MAX },
    // The time ends idle connections alone.
    ...{ scheduling: 'lifo', timeout: IDLE_MS },
  });
  return { agent, answers: createUntakenAnswers(() => performance.now()) };
}

/** How many requests wait for a connection. */
function waitingFor({ requests }: Agent): number {
  return Object.values(requests).reduce((sum, some) => sum + (some?.length ?? 0), 0);
}

/** Calls back when the body has come whole or fills the buffer of its request; never if the client goes before. */
function onceBuffered(request: IncomingMessage, then: () => void): void {
  const look = () => {
    if (!request.complete && request.readableLength < request.readableHighWaterMark) return;
    request.off('readable', look);
    then();
  };
  request.on('readable', look);
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { lane: { agent, answers }, path }: { lane: Lane; path: string },
): void {
  let hasAnswer = false;
  let forwarded: ReturnType<typeof send>;
  try {
    forwarded = send({
      ...{ agent, socketPath: path, method: request.method, path: request.url },
      headers: headersOf(request),
    });
  } catch {
    answerFault(request, response, 'A header or the address has characters that are not allowed.');
    return;
  }
  forwarded.on('response', (answer) => {
    hasAnswer = true;
    if (answer.headers.connection === 'close') response.shouldKeepAlive = false;
    leaveUnreadBody(request, response);
    response.writeHead(answer.statusCode ?? 502, without(answer.rawHeaders, NOT_ANSWERED));
    // A stream says nothing for a while.
    if (answer.headers['content-length'] === undefined) response.flushHeaders();
    answer.on('error', () => response.destroy());
    answer.on('end', () => {
      if (request.complete) return;
      // The server wants no more of the body: the next request has its place.
      request.unpipe(forwarded);
      request.resume();
      forwarded.destroy();
    });
    answers.add(answer, response);
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
  if (!hasBody(request.headers)) {
    forwarded.end();
    return;
  }
  // They wait for the first piece of the body otherwise, and the server may refuse without one.
  if (!request.complete) forwarded.flushHeaders();
  request.on('error', () => forwarded.destroy());
  request.pipe(forwarded);
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
