import type { Platform } from '../../platform/platform.ts';
import { type BackgroundWork, repeat } from '../../platform/repeat.ts';
import type { MirrorRefresher } from '../mirror/mirror-refresher.ts';
import { isUsable } from '../mirror/snapshot.ts';
import type { AdvisoryWorker } from '../worker.ts';
import { recordStaleness, type Stale } from './record-staleness.ts';

const EVERY_MS = 60_000;

export interface StalenessOptions {
  readonly platform: Platform;
  readonly maxAgeMs: number;
  readonly bootedAt: number;
  readonly source: 'mirror' | 'mirror+api' | 'api' | 'off';
  readonly worker: Pick<AdvisoryWorker, 'api'>;
  readonly mirror: Pick<MirrorRefresher, 'states'> | null;
}

/** Reports once when no usable data is left: from then on approvals of apt and dnf are blocked (A2). */
export function createStalenessWatch(options: StalenessOptions): BackgroundWork {
  return repeat({
    intervalMs: EVERY_MS,
    async run(isStopped) {
      try {
        await reportStaleEcosystems(options);
      } catch (error) {
        if (!isStopped())
          options.platform.log.error('the check for stale advisories failed', { error: String(error) });
      }
    },
  });
}

/** One check; returns the number of periods that began. */
export async function reportStaleEcosystems(options: StalenessOptions): Promise<number> {
  return recordStaleness(options.platform, { stale: await staleNow(options), maxAgeMs: options.maxAgeMs });
}

async function staleNow({
  platform,
  maxAgeMs,
  bootedAt,
  source,
  worker,
  mirror,
}: StalenessOptions): Promise<Stale[]> {
  const at = { nowMs: platform.now(), maxAgeMs };
  const api = worker.api();
  if (source === 'off' || (source === 'mirror+api' && !api.isFailing)) return [];
  if (source === 'api') {
    const asOfMs = api.answeredAtMs ?? bootedAt;
    return api.isFailing && at.nowMs - asOfMs >= maxAgeMs ? [{ ecosystem: 'all', asOfMs }] : [];
  }
  const states = (await mirror?.states()) ?? [];
  return states.flatMap(({ base, snapshot }) =>
    snapshot && !isUsable(snapshot, at) ? [{ ecosystem: base, asOfMs: snapshot.asOfMs }] : [],
  );
}
