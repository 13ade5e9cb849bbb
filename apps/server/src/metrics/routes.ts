import { createHash, timingSafeEqual } from 'node:crypto';
import { Registry } from '@prometheus-io/client';
import { Type } from 'typebox';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';

const BEARER = /^bearer +([\x21-\x7e]{1,512})$/i;
const MEDIA_TYPE = 'text/plain';

export interface MetricsDeps {
  /** Null turns metrics off. */
  token: string | null;
  scrape: () => Promise<string>;
}

/** Metrics in the text format of Prometheus, for who has their token. Without a token in the settings the path is 404. */
export function mountMetrics(routes: Routes, { token, scrape }: MetricsDeps): void {
  routes.own({
    method: 'GET',
    url: '/metrics',
    // As few attempts as at a login.
    access: { limit: 'login', counts: 'refusals', credential: 'token of metrics' },
    schema: {
      summary: 'Metrics for Prometheus',
      description: 'Off without SERVICE_METRICS_TOKEN, which is the bearer token. See docs/metrics.md.',
      tags: ['service'],
      produces: [MEDIA_TYPE],
      response: { 200: Type.String() },
      refuses: ['unauthenticated', 'not_found'],
    },
    async handler({ request, reply, credential }) {
      if (token === null) {
        throw new Refusal('not_found', { detail: 'Metrics are off: SERVICE_METRICS_TOKEN is not set.' });
      }
      const given = BEARER.exec(request.headers.authorization ?? '')?.[1];
      if (given === undefined || !isSame(given, token)) {
        throw new Refusal('unauthenticated', {
          detail: 'The token of SERVICE_METRICS_TOKEN is required as a bearer token.',
          headers: { 'www-authenticate': 'Bearer realm="metrics"' },
        });
      }
      credential.markGenuine();
      reply.header('cache-control', 'no-store').type(Registry.PROMETHEUS_CONTENT_TYPE);
      return scrape();
    },
  });
}

/** In constant time, whatever the lengths are. */
function isSame(given: string, due: string): boolean {
  return timingSafeEqual(digest(given), digest(due));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
