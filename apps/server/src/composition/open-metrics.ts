import type { AdvisoryCheck } from '@tidegate/protocol/health-api';
import { readHead } from '../events/store.ts';
import { createCollectors } from '../metrics/collectors.ts';
import { type Counts, createCounts } from '../metrics/counts.ts';
import { createScrape } from '../metrics/scrape.ts';
import type { Snapshots } from '../overview/keep-snapshots.ts';
import type { App } from '../platform/http/server.ts';
import { VERSION } from '../version.ts';
import type { Workers } from '../workers/supervise-workers.ts';
import type { ApplicationParts, Opening } from './parts.ts';

const STREAM_MEDIA_TYPE = 'text/event-stream';

/** Null where nobody may read metrics: then nothing is counted. */
export function openCounts({ config }: Pick<ApplicationParts, 'config'>): Counts | null {
  return config.metricsToken === null ? null : createCounts({ version: VERSION });
}

/** The answer to a scrape. */
export async function openMetrics(
  { config, platform, background, counts, connections }: Opening,
  {
    snapshots,
    advisories,
    workers,
  }: { snapshots: Snapshots; advisories: () => AdvisoryCheck; workers: Workers | null },
): Promise<() => Promise<string>> {
  if (counts === null) return async () => '';
  const eventsHead = (await readHead(platform.database.read))?.position ?? 0;
  const { collectors, stop } = createCollectors({
    ...{ platform, snapshots, advisories, eventsHead },
    connections: connections.counts,
    workers: workers && { ...workers, count: config.workers - 1 },
  });
  background.use('metrics', { stop });
  return createScrape({ collectors, counted: counts, now: platform.now, log: platform.log });
}

/** Counts what the framework answers; check-ins that are answered in front of it are counted there. */
export function countAnswers(http: App, { answered }: Counts): void {
  http.addHook('onResponse', (request, reply, done) => {
    done();
    if (String(reply.getHeader('content-type')).startsWith(STREAM_MEDIA_TYPE)) return;
    const route = request.is404 ? null : (request.routeOptions.url ?? null);
    answered({ route, statusCode: reply.statusCode, tookMs: reply.elapsedTime });
  });
}
