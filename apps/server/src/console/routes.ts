import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { PublicAccess } from '../platform/http/access.ts';
import type { App } from '../platform/http/server.ts';
import { readAssets } from './read-assets.ts';

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
 * existed at start. Without a build, every page says how to build the console.
 */
export async function mountConsole(app: App, { folder }: { folder: string }): Promise<void> {
  const assets = await readAssets(folder);
  if (assets !== null)
    await app.register(fastifyStatic, {
      root: folder,
      serve: false,
      cacheControl: false,
      preCompressed: true,
    });
  const page = async (reply: FastifyReply) => {
    if (assets === null) {
      return reply
        .code(503)
        .header('content-type', 'text/plain; charset=utf-8')
        .serializer(String)
        .send('The console is not built. Run "npm run build", then reload. The API is at /api/docs.\n');
    }
    return reply.header('cache-control', 'no-cache').sendFile('index.html');
  };
  for (const url of PAGES) {
    app.routes.page({
      method: 'GET',
      url,
      access,
      schema: { querystring: ANY_QUERY },
      handler: async ({ reply }) => page(reply),
    });
  }
  for (const path of assets ?? []) {
    const isNamedByHash = path.startsWith('assets/');
    app.routes.page({
      method: 'GET',
      url: `/${path}`,
      access,
      handler: async ({ reply }) =>
        reply
          .header(
            'cache-control',
            isNamedByHash ? `public, max-age=${ASSET_MAX_AGE_SECONDS}, immutable` : 'no-cache',
          )
          .sendFile(path),
    });
  }
}
