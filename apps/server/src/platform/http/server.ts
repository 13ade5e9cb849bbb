import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { BODY_MAX_BYTES } from '@tidegate/protocol/agent-api';
import { REQUEST_ID_HEADER } from '@tidegate/protocol/headers';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import type { Access, AgentCaller, OperatorCaller } from './access.ts';
import { installBodyParser } from './body.ts';
import { createErrorHandler, sendProblem } from './problem.ts';
import { KEEP_ALIVE_MS } from './ready-answer.ts';
import { Refusal } from './refusal.ts';
import { makeStrict } from './strict-routes.ts';
import { compileValidator } from './validate.ts';

/** Checks the credential and the limit of a route, in that order, and says who is calling. */
export interface Guards {
  public(request: FastifyRequest, access: Extract<Access, { kind: 'public' }>): void;
  agent(request: FastifyRequest, access: Extract<Access, { kind: 'agent' }>): Promise<AgentCaller>;
  operator(request: FastifyRequest, access: Extract<Access, { kind: 'operator' }>): Promise<OperatorCaller>;
}

export interface HttpOptions {
  log: Log;
  guards: Guards;
  /** Proxies whose X-Forwarded-For is believed; none by default. */
  trustedProxies: readonly string[];
  tls: { cert: string; key: string } | null;
  lane?: Lane;
}

/**
 * Answers requests of one kind before the framework sees them. Returns whether it took the request; what it took and
 * cannot answer it hands on by `next`, with the body unread.
 */
export type Lane = (request: IncomingMessage, response: ServerResponse, next: RequestListener) => boolean;

export type App = ReturnType<typeof createHttpServer>;

/** Slow clients are closed after this (headers and body each), in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Fastify with our edge: strict JSON, declared access on every route, problem+json for everything that fails. */
export function createHttpServer(options: HttpOptions) {
  const { log, guards } = options;
  const handleError = createErrorHandler(log);
  let isClosing = false;
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_MAX_BYTES,
    // Longer than a request line can be: the router's own refusal is not in our form, so the schema of a route judges.
    routerOptions: { maxParamLength: 65_536 },
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    genReqId: () => randomUUID(),
    // A path that does not decode, say: found before there is a route, and answered in our form all the same.
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      handleError(error, request, reply);
    },
    // What still comes over an open connection while the server stops is answered, and the connection closed.
    return503OnClosing: false,
    serverFactory: (next) => createNodeServer(options, { next, isClosing: () => isClosing }),
    exposeHeadRoutes: false,
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.decorateRequest('agentCaller', null);
  app.decorateRequest('operatorCaller', null);
  installBodyParser(app);
  app.setErrorHandler(handleError);
  app.addHook('preClose', async () => {
    isClosing = true;
  });

  const routes: KnownRoute[] = [];
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) routes.push({ method, segments: segmentsOf(route.url) });
    if (!route.config?.access)
      throw new Error(`route ${String(route.method)} ${route.url} declares no access`);
    makeStrict(route);
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    // PostgreSQL has no such character in its texts; bodies cannot bring it either.
    if (request.url.includes('%00')) {
      throw new Refusal('invalid_request', { detail: 'The address holds a NUL character.' });
    }
    const access = request.routeOptions.config.access;
    if (!access) return;
    switch (access.kind) {
      case 'public':
        guards.public(request, access);
        return;
      case 'agent':
        request.agentCaller = await guards.agent(request, access);
        return;
      case 'operator':
        reply.header('cache-control', 'no-store');
        request.operatorCaller = await guards.operator(request, access);
        return;
      case 'own':
        return;
    }
  });
  app.setNotFoundHandler((request, reply) => answerUnknown(routes, request, reply));
  return app;
}

function createNodeServer(
  { lane, tls }: HttpOptions,
  { next, isClosing }: { next: RequestListener; isClosing: () => boolean },
) {
  const listener: RequestListener =
    lane === undefined
      ? next
      : (request, response) => {
          if (isClosing() || !lane(request, response, next)) next(request, response);
        };
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  return tls ? createTlsServer({ ...limits, ...tls }, listener) : createServer(limits, listener);
}

interface KnownRoute {
  method: string;
  segments: readonly string[];
}

function answerUnknown(
  routes: readonly KnownRoute[],
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.header(REQUEST_ID_HEADER, request.id);
  const path = segmentsOf(request.url.split('?', 1)[0] ?? '');
  const allowed = [...new Set(routes.filter((r) => matches(r.segments, path)).map((r) => r.method))];
  if (allowed.length > 0) {
    reply.header('allow', allowed.join(', '));
    const members = { detail: `This path takes ${allowed.join(', ')}.` };
    return sendProblem(request, reply, { code: 'method_not_allowed', members });
  }
  return sendProblem(request, reply, {
    code: 'not_found',
    members: { detail: 'There is nothing at this path.' },
  });
}

function segmentsOf(url: string): string[] {
  return url.split('/').slice(1);
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((segment, i) => segment.startsWith(':') || segment === path[i])
  );
}

/** The caller of a route whose access is `agent`. */
export function agentOf(request: FastifyRequest): AgentCaller {
  if (!request.agentCaller) throw new Error('route without agent access');
  return request.agentCaller;
}

/** The caller of a route whose access is `operator`. */
export function operatorOf(request: FastifyRequest): OperatorCaller {
  if (!request.operatorCaller) throw new Error('route without operator access');
  return request.operatorCaller;
}
