import type { FastifyInstance } from 'fastify';

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

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * Security headers on every answer, including errors (ASVS 3.4). Agents render nothing and get only two of them,
 * because most of the cost of a check-in is bytes on the socket.
 * `https`: browsers reach the server by https, so Strict-Transport-Security is sent.
 */
export function installSecurityHeaders(app: FastifyInstance, { https }: { https: boolean }): void {
  const browser: Record<string, string> = {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    ...(https ? { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } : {}),
  };
  const browserHeaders = Object.entries(browser);
  app.addHook('onSend', (request, reply, _payload, done) => {
    const isAgent = request.routeOptions.config.access?.kind === 'agent';
    for (const [name, value] of isAgent ? AGENT_HEADERS : browserHeaders) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    done();
  });
}
