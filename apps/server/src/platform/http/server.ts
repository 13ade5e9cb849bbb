import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { EVIDENCE_MEDIA_TYPE } from '@tidegate/protocol/evidence-api';
import { REQUEST_ID_HEADER } from '@tidegate/protocol/headers';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { systemRandom } from '../ids.ts';
import type { Log } from '../log.ts';
import type { RequestWatch } from '../slow-log.ts';
import { createWorkQueue } from '../work-queue.ts';
import { admit, type Guards } from './admit.ts';
import { demandKnownEncoding, installBodyParser } from './body.ts';
import { SMALL_BODY_MAX_BYTES } from './body-sizes.ts';
import { answerFault } from './client-faults.ts';
import { createRoutes } from './create-routes.ts';
import { CSV_MEDIA_TYPE } from './csv-rules.ts';
import { headerFault } from './header-faults.ts';
import { httpLimits, REQUEST_TIMES, type RequestTimes } from './http-limits.ts';
import { createKnownPaths, type KnownPaths } from './known-paths.ts';
import type { OpenConnections } from './open-connections.ts';
import { createErrorHandler, sendProblem } from './problem.ts';
import { Refusal } from './refusal.ts';
import type { Routes } from './routes.ts';
import { sendInPieces } from './send-in-pieces.ts';
import { LEAST_TLS_VERSION, type ServerCertificate } from './server-certificate.ts';
import type { LoadShedding } from './shed-load.ts';
import { strictSchema } from './strict-routes.ts';
import { createUnfinishedBodies } from './unfinished-bodies.ts';
import { leaveUnreadBody } from './unread-body.ts';
import { compileValidator } from './validate.ts';

export interface HttpOptions {
  log: Log;
  guards: Guards;
  /** Proxies whose X-Forwarded-For is trusted; none by default. */
  trustedProxies: readonly string[];
  /** Null listens over plain HTTP. */
  tls: ServerCertificate | null;
  /** Runs in front of the framework. */
  plainRoute?: PlainRoute;
  /** Refuses what is too much; absent refuses nothing. */
  shedding?: LoadShedding;
  /** Bounds the connections that are kept; absent keeps all. */
  connections?: OpenConnections;
  /** Default: REQUEST_TIMES. */
  times?: RequestTimes;
  /** Tells of slow requests; null or absent measures nothing. */
  watch?: RequestWatch | null;
}

/**
 * Answers requests of one kind in front of the framework, and passes others to `next` with the body unread.
 */
export type PlainRoute = (request: IncomingMessage, response: ServerResponse, next: RequestListener) => void;

export interface App extends FastifyInstance {
  /** The only way for a slice to declare a route. */
  readonly routes: Routes;
}

const STREAM_MEDIA_TYPES = ['text/event-stream', CSV_MEDIA_TYPE, EVIDENCE_MEDIA_TYPE];
/** Decompressions that run at once and that wait. Few, because files and DNS share the thread pool. */
const DECOMPRESSIONS_MAX = 1;
const DECOMPRESSIONS_WAITING_MAX = 64;

/** Fastify with strict JSON, a declared access on every route, and problem+json for every failure. */
export function createHttpServer(options: HttpOptions): App {
  const { log, guards } = options;
  const handleError = createErrorHandler(log);
  let isClosing = false;
  const paths = createKnownPaths();
  /** Answers that stay open on purpose. */
  const untimed = new WeakSet<ServerResponse>();
  const app = Fastify({
    logger: false,
    bodyLimit: SMALL_BODY_MAX_BYTES,
    // Longer than any request line, so that the schema of a route refuses and not the router, whose answer is
    // no problem+json.
    routerOptions: { maxParamLength: 65_536 },
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    genReqId: () => randomUUID(),
    // Faults before routing, such as a path that does not decode, are answered with problem+json too.
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      handleError(error, request, reply);
    },
    // While the server stops, requests on open connections are answered and the connections closed.
    return503OnClosing: false,
    serverFactory: (next) =>
      createNodeServer(options, { next, known: { paths, untimed }, isClosing: () => isClosing }),
    exposeHeadRoutes: false,
  });

  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.decorateRequest('caller', null);
  installBodyParser(
    app,
    createWorkQueue({
      running: DECOMPRESSIONS_MAX,
      waiting: DECOMPRESSIONS_WAITING_MAX,
      what: 'compressed bodies',
      random: systemRandom,
    }),
  );
  app.setErrorHandler(handleError);
  app.addHook('preClose', async () => {
    isClosing = true;
    options.connections?.endSilent();
  });

  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) paths.add({ method, url: route.url });
    const { access, bodyMaxBytes } = route.config ?? {};
    if (!access) throw new Error(`route ${String(route.method)} ${route.url} declares no access`);
    if (access.kind === 'public' && access.limit === null && route.method !== 'GET') {
      throw new Error(`route ${String(route.method)} ${route.url} takes a body and declares no limit`);
    }
    if (bodyMaxBytes !== undefined) route.bodyLimit = bodyMaxBytes;
    route.schema = strictSchema(route.method, route.schema);
    route.onSend = sendInPieces;
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    // PostgreSQL cannot store U+0000 in text; strict JSON refuses it in bodies.
    if (request.url.includes('%00')) {
      throw new Refusal('invalid_request', { detail: 'The URL contains a NUL character.' });
    }
    // An unknown path is 404 whatever the body is, so the body is not read.
    const { url: pattern } = request.routeOptions;
    if (request.is404 || pattern === undefined || paths.isMisrouted(pathOf(request), pattern)) {
      return answerUnknown(paths, request, reply);
    }
    const { access } = request.routeOptions.config;
    if (access) request.caller = await admit(guards, access, { request, reply });
    demandKnownEncoding(request);
  });
  const unfinished = createUnfinishedBodies();
  // Behind the hooks of the routes, which refuse large work.
  app.addHook('preParsing', async ({ caller, raw: request }, { raw: response }) => {
    if (caller?.kind === 'agent') unfinished.add(caller.agent.agentId, { request, response });
  });

  app.addHook('onSend', (request, reply, _payload, done) => {
    const type = String(reply.getHeader('content-type'));
    if (STREAM_MEDIA_TYPES.some((one) => type.startsWith(one))) untimed.add(reply.raw);
    const { access } = request.routeOptions.config;
    const { caller } = request;
    const isGenuine = caller?.kind === 'own' && caller.isGenuine;
    if (access?.kind === 'own' && reply.statusCode >= 400 && !isGenuine) {
      guards.own.countRefusal(request, access);
    }
    leaveUnreadBody(request.raw, reply.raw);
    done();
  });
  app.setNotFoundHandler((request, reply) => answerUnknown(paths, request, reply));
  return Object.assign(app, { routes: createRoutes(app) });
}

export type NodeServerOptions = Omit<HttpOptions, 'log' | 'guards' | 'trustedProxies'>;

/** The server of Node with what stands in front of the framework, or in a worker in front of the server. */
export function createNodeServer(
  { plainRoute, shedding, connections, tls, times = REQUEST_TIMES, watch = null }: NodeServerOptions,
  { next, isClosing, known }: { next: RequestListener; isClosing: () => boolean; known: Known },
) {
  const listener: RequestListener = (request, response) => {
    if (connections?.follow(response) === false) return;
    if (watch !== null) time(watch, { request, response, ...known });
    const fault = headerFault(request);
    if (fault !== null) return answerFault(request, response, fault);
    if (shedding?.refuses(request, response)) return;
    if (plainRoute === undefined || isClosing()) next(request, response);
    else plainRoute(request, response, next);
  };
  const limits = httpLimits(times);
  if (!tls) {
    const plain = createServer(limits, listener);
    shedding?.watch(plain);
    connections?.watch(plain);
    return plain;
  }
  const server = createTlsServer(
    { ...limits, minVersion: LEAST_TLS_VERSION, handshakeTimeout: times.headersMs },
    listener,
  );
  shedding?.watch(server);
  connections?.watch(server);
  tls.attach(server);
  return server;
}

/** What the framework knows of requests, for those in front of it. */
interface Known {
  paths: KnownPaths;
  /** Answers whose time says nothing, or is told by another process. */
  untimed: WeakSet<ServerResponse>;
}

function time(
  watch: RequestWatch,
  { request, response, paths, untimed }: Known & { request: IncomingMessage; response: ServerResponse },
): void {
  const startedMs = watch.elapsedMs();
  response.once('close', () => {
    const tookMs = watch.elapsedMs() - startedMs;
    if (tookMs < watch.thresholdMs) return;
    if (untimed.has(response)) return;
    const method = request.method ?? '';
    const route = paths.patternAt(request.url?.split('?', 1)[0] ?? '', method) ?? 'no route';
    watch.tell({ method, route, tookMs, status: response.statusCode, isComplete: response.writableFinished });
  });
}

function answerUnknown(paths: KnownPaths, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header(REQUEST_ID_HEADER, request.id);
  const allowed = paths.methodsAt(pathOf(request));
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

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '';
}
