import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Allows only the console's own scripts, styles and calls; no plug-ins, frames or other sites. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** For agents, which read JSON and render nothing. */
export const AGENT_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['cache-control', 'no-store'],
];

const HSTS = 'strict-transport-security';

/**
 * Security headers on every answer, including errors (ASVS 3.4). Agents render nothing and get only two of them,
 * because most of the cost of a check-in is bytes on the socket.
 * `hstsMaxAgeSeconds`: for how long a browser that came by https uses nothing else; 0 tells it to forget that.
 */
export function installSecurityHeaders(
  app: FastifyInstance,
  { hstsMaxAgeSeconds }: { hstsMaxAgeSeconds: number },
): void {
  const browserHeaders = Object.entries({
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  });
  const hsts = `max-age=${hstsMaxAgeSeconds}`;
  app.addHook('onSend', (request, reply, _payload, done) => {
    const isAgent = request.routeOptions.config.access?.kind === 'agent';
    for (const [name, value] of isAgent ? AGENT_HEADERS : browserHeaders) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    if (!isAgent && promisesHttps(request)) reply.header(HSTS, hsts);
    done();
  });
}

/**
 * RFC 6797 forbids the header over plain HTTP, and for addresses. `localhost` is left out because the promise would
 * hold for every other program of that machine. `protocol` and `hostname` are those that a trusted proxy names.
 */
function promisesHttps({ protocol, hostname }: FastifyRequest): boolean {
  if (protocol !== 'https') return false;
  const name = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  return name !== '' && name !== 'localhost' && !name.endsWith('.localhost') && isIP(name) === 0;
}
