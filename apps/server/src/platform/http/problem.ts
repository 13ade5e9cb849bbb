import { STATUS_CODES } from 'node:http';
import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUS, type ProblemCode } from '@tidegate/protocol/problems';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseFault } from '../db/engine.ts';
import type { Log } from '../log.ts';
import { Refusal, type RefusalForm, type RefusalMembers } from './refusal.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of a route that does not refuse with problem details. */
    refusalForm?: RefusalForm;
  }
}

/** The body of a problem. It never echoes input, except the paths of invalid fields. */
export function problemBody(
  code: ProblemCode,
  requestId: string,
  members: RefusalMembers,
): Record<string, unknown> {
  const status = PROBLEM_STATUS[code];
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail: members.detail,
    request_id: requestId,
    ...(members.errors ? { errors: members.errors } : {}),
    ...members.extra,
  };
}

export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: { code: ProblemCode; members: RefusalMembers },
): FastifyReply {
  const { code, members } = answer;
  if (members.retryAfterSeconds !== undefined) reply.header('retry-after', String(members.retryAfterSeconds));
  if (PROBLEM_STATUS[code] === 401) reply.header('www-authenticate', 'Bearer');
  for (const [name, value] of Object.entries(members.headers ?? {})) reply.header(name, value);
  reply.code(PROBLEM_STATUS[code]);
  return sendForm(request, reply, answer) ?? sendBody(reply, problemBody(code, request.id, members));
}

/** In the form of the route, where it has one of its own; null where it has none. */
function sendForm(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Parameters<RefusalForm['bodyOf']>[0],
): FastifyReply | null {
  const { refusalForm } = request.routeOptions.config;
  return refusalForm ? sendBody(reply, refusalForm.bodyOf(refusal), 'application/json') : null;
}

function sendBody(reply: FastifyReply, body: unknown, mediaType = PROBLEM_MEDIA_TYPE): FastifyReply {
  return reply
    .header('content-type', mediaType)
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(body);
}

const UNEXPECTED =
  'The server failed because of a fault of its own. Try again; if it fails again, look in its log for the request id.';

/**
 * Maps everything that a handler can throw. An unexpected error is logged and answered with 500 without
 * details.
 */
export function createErrorHandler(log: Log) {
  return function handleError(
    error: FastifyError | Error,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply {
    if (error instanceof Refusal) return sendProblem(request, reply, error);
    if (error instanceof DatabaseFault) {
      log.error('database unavailable', { request_id: request.id, cause: error.message });
      return sendProblem(request, reply, {
        code: 'unavailable',
        members: { detail: 'The database cannot be reached at the moment.', retryAfterSeconds: 5 },
      });
    }
    // A request that was read to its end counts as destroyed too.
    if (request.raw.destroyed && !request.raw.complete) {
      // The client disconnected within the body: not an error of the server, and nobody reads the answer.
      log.debug('request given up by its client', { request_id: request.id });
      return sendProblem(request, reply, MALFORMED);
    }
    const known = fromFastify(error);
    if (known) return sendProblem(request, reply, known);
    log.error('unexpected error', {
      request_id: request.id,
      method: request.method,
      error: error.stack ?? String(error),
    });
    reply.code(500);
    return (
      sendForm(request, reply, { code: 'internal_error', members: { detail: UNEXPECTED } }) ??
      sendBody(reply, {
        ...{ type: 'about:blank', title: 'Internal Server Error', status: 500, code: 'internal_error' },
        ...{ detail: UNEXPECTED, request_id: request.id },
      })
    );
  };
}

interface Known {
  code: ProblemCode;
  members: RefusalMembers;
}

const MALFORMED: Known = { code: 'invalid_request', members: { detail: 'The request is not well formed.' } };

function fromFastify(error: Error): Known | null {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return {
      code: 'payload_too_large',
      members: { detail: 'The body is larger than this endpoint allows.' },
    };
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return { code: 'unsupported_media_type', members: { detail: 'Send the body as application/json.' } };
  }
  // Other faults that the framework blames on the client, such as a missing body.
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  return code.startsWith('FST_ERR_') && status >= 400 && status < 500 ? MALFORMED : null;
}
