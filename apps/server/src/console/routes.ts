import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { PublicAccess } from '../platform/http/access.ts';
import type { App } from '../platform/http/server.ts';
import { readAssets } from './read-assets.ts';
import { sendAsset } from './send-asset.ts';

const access: PublicAccess = { limit: null };
const ASSET_MAX_AGE_SECONDS = 31_536_000;
/** The console's script reads the query; the server ignores it. */
const ANY_QUERY = Type.Unknown();

/** Paths of the console's pages. All answer the same document, whose script shows the page. */
export const PAGES = [
  '/',
  '/login',
  '/welcome',
  '/updates',
  '/updates/by-host',
  '/updates/:id',
  '/updates/:id/record',
  '/notices/:id',
  '/packages',
  '/vulnerabilities',
  '/vulnerabilities/:id',
  '/unfixed',
  '/hosts',
  '/hosts/:id',
  '/hosts/:id/inventory',
  '/hosts/:id/history',
  '/commands',
  '/commands/:id',
  '/events',
  '/events/:id',
  '/calendar',
  '/policies',
  '/policies/:id',
  '/rollouts',
  '/rollouts/:id',
  '/reboots',
  '/blackouts',
  '/holds',
  '/exceptions',
  '/statements',
  '/origins',
  '/divergences',
  '/enrolment',
  '/signing-keys',
  '/rate-limits',
  '/notifications',
  '/notifications/rules',
  '/notifications/deliveries',
  '/operators',
  '/account',
  '/settings',
] as const;

/**
 * The built console: pages, scripts and styles, whose names contain their hash. Serves only files that
 * existed at start, from memory. Without a build, every page says how to build the console.
 */
export async function mountConsole(app: App, { folder }: { folder: string }): Promise<void> {
  const assets = await readAssets(folder);
  const page = async (request: FastifyRequest, reply: FastifyReply) => {
    if (assets === null) {
      return reply
        .code(503)
        .header('content-type', 'text/plain; charset=utf-8')
        .serializer(String)
        .send('The console is not built. Run "npm run build", then reload. The API is at /api/docs.\n');
    }
    return sendAsset(request, reply.header('cache-control', 'no-cache'), assets.document);
  };
  for (const url of PAGES) {
    app.routes.page({
      method: 'GET',
      url,
      access,
      schema: { querystring: ANY_QUERY },
      handler: async ({ request, reply }) => page(request, reply),
    });
  }
  for (const [path, asset] of assets?.files ?? []) {
    const caching = path.startsWith('assets/')
      ? `public, max-age=${ASSET_MAX_AGE_SECONDS}, immutable`
      : 'no-cache';
    app.routes.page({
      method: 'GET',
      url: `/${path}`,
      access,
      handler: async ({ request, reply }) =>
        sendAsset(request, reply.header('cache-control', caching), asset),
    });
  }
}
