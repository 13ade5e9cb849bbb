import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '@tidegate/protocol/headers';
import { PROBLEM_MEDIA_TYPE, type ProblemCode } from '@tidegate/protocol/problems';
import type { FastifyInstance } from 'fastify';
import { leaveUnreadBody } from './unread-body.ts';

interface Fault {
  status: number;
  code: ProblemCode;
  detail: string;
}

const NOT_HTTP: Fault = {
  status: 400,
  code: 'invalid_request',
  detail: 'The request is not well-formed HTTP.',
};
const FAULTS: Readonly<Record<string, Fault>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'invalid_request',
    detail: 'The request did not arrive in time.',
  },
  HPE_HEADER_OVERFLOW: { status: 431, code: 'invalid_request', detail: 'The headers are too large.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    code: 'payload_too_large',
    detail: 'The chunk extensions are too large.',
  },
};

/**
 * Answers HTTP that does not parse, or does not arrive in time, with problem+json, and closes the connection.
 */
export function installClientFaults(app: Pick<FastifyInstance, 'server'>): void {
  app.server.removeAllListeners('clientError');
  app.server.on('clientError', (error: Error, socket: Socket) => {
    const code = 'code' in error ? String(error.code) : '';
    // The client is gone, or an earlier answer is being sent, which a second one would corrupt.
    if (code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) socket.destroy();
    else socket.end(answerOf(FAULTS[code] ?? NOT_HTTP), () => socket.destroy());
  });
}

/** Answers a request with unacceptable headers before the framework sees it, and closes the connection. */
export function answerFault(request: IncomingMessage, response: ServerResponse, detail: string): void {
  const { status, headers, body } = problemOf({ ...NOT_HTTP, detail });
  response.writeHead(status, { ...headers, connection: 'close' });
  leaveUnreadBody(request, response);
  response.end(body);
}

/** Answers a request that the server has no room for before the framework sees it, and closes the connection. */
export function answerUnavailable(
  request: IncomingMessage,
  response: ServerResponse,
  { detail, retryAfterSeconds }: { detail: string; retryAfterSeconds: number },
): void {
  const { status, headers, body } = problemOf({ status: 503, code: 'unavailable', detail });
  response.writeHead(status, { ...headers, 'retry-after': String(retryAfterSeconds), connection: 'close' });
  leaveUnreadBody(request, response);
  response.end(body);
}

/** Whether the client still waits: one that gave up has closed its connection, or its side of it, which for Node is the same. */
export function isAwaited({ socket }: IncomingMessage): boolean {
  return !socket.destroyed && !socket.readableEnded;
}

function answerOf(fault: Fault): string {
  const { status, headers, body } = problemOf(fault);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, 'connection: close'];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

function problemOf({ status, code, detail }: Fault) {
  const requestId = randomUUID();
  const title = STATUS_CODES[status] ?? 'Error';
  const body = JSON.stringify({ type: 'about:blank', title, status, code, detail, request_id: requestId });
  const headers = {
    [REQUEST_ID_HEADER]: requestId,
    'content-type': PROBLEM_MEDIA_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  return { status, headers, body };
}
