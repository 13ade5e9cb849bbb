import { createBadgeRefresher } from '../advisories/badges.ts';
import { createExploitFeeds } from '../advisories/exploited/feeds.ts';
import { openMirror } from '../advisories/mirror/open-mirror.ts';
import { createOsvClient } from '../advisories/osv-client.ts';
import { createStalenessWatch } from '../advisories/staleness/staleness-watch.ts';
import { createAdvisoryWorker } from '../advisories/worker.ts';
import { policyOf } from '../approvals/deps.ts';
import { stoppedUnder } from '../approvals/gate.ts';
import { createProvenanceClient } from '../provenance/fetch-provenance.ts';
import { createBundleVerifier } from '../provenance/verify-bundle.ts';
import { createProvenanceWorker } from '../provenance/worker.ts';
import { createRegistryClient } from '../release-times/registry-client.ts';
import { createReleaseTimes } from '../release-times/worker.ts';
import type { Opening } from './parts.ts';

export type Sources = ReturnType<typeof openSources>;

/** Everything that calls other servers: advisories, times of release and provenance. */
export function openSources({ config, platform, trustedRoot, background, workOfOne, bootedAt }: Opening) {
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  const client = createOsvClient({ baseUrl: config.advisoryApiUrl });
  const mirror = openMirror({ platform, config, api: client });
  if (mirror) background.useOutgoing('advisory mirror', mirror);
  const advisories = background.useOutgoing(
    'advisories',
    createAdvisoryWorker({ platform, config, client, mirror }),
  );
  background.useOutgoing(
    'exploit feeds',
    createExploitFeeds({ platform, kevUrl: config.kevUrl, epssUrl: config.epssUrl }),
  );
  const releaseTimes = background.useOutgoing(
    'release times',
    createReleaseTimes({ platform, client: createRegistryClient({ config, now: platform.now }) }),
  );
  const verify = createBundleVerifier(trustedRoot);
  const provenance = background.useOutgoing(
    'provenance',
    createProvenanceWorker({ platform, client: createProvenanceClient({ config, verify }) }),
  );
  const { advisorySource: source } = config;
  workOfOne.use('staleness watch', (fenced) =>
    createStalenessWatch({
      ...{ platform: fenced, bootedAt, mirror, worker: advisories, source, maxAgeMs },
    }),
  );
  workOfOne.use('advisory badges', (fenced) =>
    createBadgeRefresher({
      ...{ platform: fenced, worker: advisories, maxAgeMs, tickMs: config.sweepIntervalSeconds * 1_000 },
      stoppedUnder: (closure) => stoppedUnder(closure, policyOf({ config })),
    }),
  );
  const advisoryState = () => ({ status: advisories.status(), missing: mirror?.missing() ?? [] });
  return { advisories, advisoryState, releaseTimes, provenance };
}
