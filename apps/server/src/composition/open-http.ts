import { type AddressInfo, createServer } from 'node:net';
import { shedAgents } from '../agents/shed-agents.ts';
import { installOpenApi } from '../openapi/document.ts';
import type { OperatorGuard } from '../operators/operator-guard.ts';
import type { Guards } from '../platform/http/admit.ts';
import { installClientFaults } from '../platform/http/client-faults.ts';
import { addressesOf, listenMore, listenOnOthers, SHARES_PORTS } from '../platform/http/listeners.ts';
import { installSecurityHeaders } from '../platform/http/security-headers.ts';
import { type App, createHttpServer, type PlainRoute } from '../platform/http/server.ts';
import { watchRequests } from '../platform/slow-log.ts';
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
    watch: watchRequests({ thresholdMs: config.logSlowRequestMs, log: platform.log, elapsedMs }),
    shedding: shedAgents({
      ...{ log: platform.log, random: platform.random, processes: config.workers },
      answered: opening.counts?.answered ?? null,
    }),
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

const elapsedMs = () => performance.now();

/** Listens, and returns the port. */
export async function listen(http: App, { config: { host, port, workers } }: Opening): Promise<number> {
  const isShared = workers > 1 || SHARES_PORTS;
  // The kernel would let a second server in, if it is of the same user.
  if (isShared && port !== 0) await demandFree({ host, port });
  const sharing = isShared ? { reusePort: true } : {};
  await http.listen({ host, port, ...sharing });
  if (SHARES_PORTS) await listenMore(http.server);
  // Fastify does this only for servers of its own making.
  if (host === 'localhost') await listenOnOthers(http.server, await addressesOf(host), sharing);
  const address: AddressInfo | string | null = http.server.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

export function urlOf({ config: { host }, tls }: Pick<Opening, 'config' | 'tls'>, port: number): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Rejects as `listen` does where another process listens. */
async function demandFree(at: { host: string; port: number }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const probe = createServer().once('error', reject);
  probe.listen(at, () => probe.close(() => resolve()));
  await promise;
}
