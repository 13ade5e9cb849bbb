import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { installOpenApi } from '../openapi/document.ts';
import type { OperatorGuard } from '../operators/operator-guard.ts';
import type { Guards } from '../platform/http/admit.ts';
import { installClientFaults } from '../platform/http/client-faults.ts';
import { listenOnOthers } from '../platform/http/other-addresses.ts';
import { installSecurityHeaders } from '../platform/http/security-headers.ts';
import { type App, createHttpServer, type PlainRoute } from '../platform/http/server.ts';
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
