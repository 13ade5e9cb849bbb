import { chooseProxy, type Environment } from '@tidegate/protocol/proxy-route';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';

const CONNECT_TIMEOUT_MS = 10_000;

/** Connections to other servers: through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for each of them. */
export function createOutgoing(
  { connections }: { connections: number },
  env: Environment = process.env,
): Dispatcher {
  const limits = { connections, connect: { timeout: CONNECT_TIMEOUT_MS } };
  return new Agent({
    ...limits,
    factory: (origin, options) => {
      const route = chooseProxy(new URL(origin), env);
      if (route.kind === 'direct') return new Pool(origin, options);
      // A wrong variable must not open a way around the proxy.
      if (route.kind === 'invalid')
        throw new ProxyFault(`${route.variable} names no http:// or https:// proxy`);
      return new ProxyAgent({ ...limits, uri: route.url });
    },
  });
}

/** A proxy variable that cannot be used. */
class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
}
