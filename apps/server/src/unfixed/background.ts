import type { AdvisoryWorker } from '../advisories/worker.ts';
import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { createAdvisorySubjects } from './advisory-subjects.ts';
import { createImageCache } from './image-cache.ts';
import { createLookUpTurns } from './look-up-turns.ts';
import { runUnfixedPass } from './run-pass.ts';

/** Keeps the list of known vulnerabilities that no pending update fixes, pass after pass. */
export function createUnfixedBackground(
  deps: {
    platform: Platform;
    config: Pick<Config, 'advisoryMaxAgeHours' | 'vulnerabilityPolicy'>;
    worker: Pick<AdvisoryWorker, 'judgeInBackground' | 'wantRecords'>;
  },
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const { platform } = deps;
  const caches = { images: createImageCache(), advisorySubjects: createAdvisorySubjects() };
  const turns = createLookUpTurns();
  return repeat({
    intervalMs,
    async run(isStopped) {
      try {
        await runUnfixedPass({ ...deps, ...caches, turns }, { intervalMs, isStopped });
      } catch (error) {
        // An unavailable database must not end the process: the next run tries again.
        if (!isStopped())
          platform.log.error('vulnerabilities without a fix were not counted', { error: String(error) });
      }
    },
  });
}
