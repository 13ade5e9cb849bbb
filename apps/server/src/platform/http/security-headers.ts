import type { FastifyInstance } from 'fastify';

/** What the console needs and no more: its own scripts, styles and calls; no plug-ins, no frames, no other site. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** What agents need: they read JSON and render nothing. */
export const AGENT_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['cache-control', 'no-store'],
];

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * Security headers on every answer, errors included (ASVS 3.4). Agents read JSON and render nothing: they get the
 * two that matter to them, because bytes on the socket are most of what a check-in costs.
 * `https` where browsers reach the server by https: only then is Strict-Transport-Security true.
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
