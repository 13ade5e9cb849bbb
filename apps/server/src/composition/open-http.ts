import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { installOpenApi } from '../openapi/document.ts';
import type { OperatorGuard } from '../operators/operator-guard.ts';
import { createAcceptWait } from '../platform/http/accept-wait.ts';
import type { Guards } from '../platform/http/admit.ts';
import { installClientFaults } from '../platform/http/client-faults.ts';
import { listenOnOthers } from '../platform/http/other-addresses.ts';
import { installSecurityHeaders } from '../platform/http/security-headers.ts';
import { type App, createHttpServer, type PlainRoute } from '../platform/http/server.ts';
import { createLoadShedding, type Lane, type LoadShedding } from '../platform/http/shed-load.ts';
import type { Log } from '../platform/log.ts';
import { type RequestWatch, watchRequests } from '../platform/slow-log.ts';
import { createOpenGuard, createPublicGuard } from '../rate-limits/public-guard.ts';
import { VERSION } from '../version.ts';
import { countAnswers } from './open-metrics.ts';
import type { Opening } from './parts.ts';

interface Doors {
  plainRoute: PlainRoute;
  agent: Guards['agent'];
  own: Guards['own'];
  operators: OperatorGuard;
}

/** The HTTP server with the guard of each kind of route, before any route is mounted. */
export async function openHttp(opening: Opening, { plainRoute, agent, own, operators }: Doors): Promise<App> {
  const { config, platform, tls, limiter, background } = opening;
  if (tls) background.useOutgoing('certificate', tls);
  const http = createHttpServer({
    ...{ plainRoute, log: platform.log, trustedProxies: config.trustedProxies, tls },
    watch: slow(config.logSlowRequestMs, platform.log),
    shedding: shedAgents(opening),
    connections: opening.connections,
    guards: {
      ...{ agent, own, operator: operators.guard },
      public: createPublicGuard(limiter),
      anyone: createOpenGuard(limiter, operators.identify),
    },
  });
  installClientFaults(http);
  if (opening.counts) countAnswers(http, opening.counts);
  installSecurityHeaders(http, { hstsMaxAgeSeconds: config.hstsMaxAgeSeconds });
  await installOpenApi(http, { version: VERSION });
  return http;
}

const CHECK_IN = '/api/v1/agents/:agent_id/check-in';
const RENEWAL = '/api/v1/agents/renew';

/** What a whole fleet sends at once when it comes back. */
const AGENT_LANES: readonly Lane[] = [
  {
    ...{ name: 'check-ins', route: CHECK_IN, inProgressMax: 1_024 },
    has: ({ method, url }) =>
      method === 'POST' && url?.startsWith('/api/v1/agents/') === true && url.endsWith('/check-in'),
  },
  {
    ...{ name: 'renewals', route: RENEWAL, inProgressMax: 512 },
    has: ({ method, url }) => method === 'POST' && url === RENEWAL,
  },
];
/** Least time between two lines of the log about refusals. */
const TOLD_EVERY_MS = 60_000;

function shedAgents({ platform: { log, random }, counts }: Opening): LoadShedding {
  const elapsedMs = () => performance.now();
  const refused = new Map<string, number>();
  let toldMs = Number.NEGATIVE_INFINITY;
  return createLoadShedding({
    ...{ lanes: AGENT_LANES, elapsedMs, random, acceptWait: createAcceptWait(elapsedMs) },
    onRefused({ lane: { name, route }, tookMs }) {
      counts?.answered({ route, statusCode: 503, tookMs });
      refused.set(name, (refused.get(name) ?? 0) + 1);
      if (elapsedMs() - toldMs < TOLD_EVERY_MS) return;
      toldMs = elapsedMs();
      log.warn('requests of agents refused: too many at once', Object.fromEntries(refused));
      refused.clear();
    },
  });
}

function slow(thresholdMs: number, log: Log): RequestWatch | null {
  if (thresholdMs === 0) return null;
  return watchRequests({ thresholdMs, log, elapsedMs: () => performance.now() });
}

/** Listens, and returns the URL. */
export async function listen(http: App, { config: { host, port }, tls }: Opening): Promise<string> {
  await http.listen({ host, port });
  // Fastify does this only for servers of its own making.
  if (host === 'localhost') await listenOnOthers(http.server, await addressesOf(host));
  const address: AddressInfo | string | null = http.server.address();
  const bound = address !== null && typeof address === 'object' ? address.port : 0;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
