import { chooseProxy, type Environment } from '@tidegate/protocol/proxy-route';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Destinations } from './destinations.ts';

const CONNECT_TIMEOUT_MS = 10_000;

export interface OutgoingLimits {
  /** To one server at once; unlimited unless set. */
  connections?: number;
  /** Largest answer in bytes; unlimited unless set. */
  maxResponseSize?: number;
}

/**
 * Connections to other servers: through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for each of them. `ca`:
 * certificates in PEM that the servers, not the proxy, are trusted by in place of the public ones. `destinations`: which
 * addresses may be reached, for URLs that an operator enters; names behind a proxy are the proxy's to resolve.
 */
export function createOutgoing(
  { ca, destinations, ...limits }: OutgoingLimits & { ca?: string | null; destinations?: Destinations },
  env: Environment = process.env,
): Dispatcher {
  const trust = ca ? { ca } : null;
  return new Agent({
    ...limits,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...trust, ...(destinations && { lookup: destinations.lookup }) },
    factory: (origin, options) => {
      const url = new URL(origin);
      destinations?.checkLiteral(url.hostname);
      const route = chooseProxy(url, env);
      if (route.kind === 'direct') return new Pool(origin, options);
      // A wrong variable must not open a way around the proxy.
      if (route.kind === 'invalid')
        throw new ProxyFault(`${route.variable} names no http:// or https:// proxy`);
      const times = { connectTimeout: CONNECT_TIMEOUT_MS };
      return new ProxyAgent({ ...limits, ...times, uri: route.url, ...(trust && { requestTls: trust }) });
    },
  });
}

/** A proxy variable that cannot be used. */
class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
}
