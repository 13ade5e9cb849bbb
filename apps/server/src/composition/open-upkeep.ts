import { tidyClientErrors } from '../client-errors/tidy.ts';
import { openCheckpointFile } from '../events/checkpoint-file.ts';
import { checkpointKeys } from '../events/checkpoint-keys.ts';
import { createEventUpkeep } from '../events/upkeep.ts';
import { tidyChanges, tidyIdentities } from '../installed/tidy-installed.ts';
import { tidyParts } from '../inventory/tidy-parts.ts';
import { createOutsiderUpkeep } from '../outsiders/upkeep.ts';
import { createRetentionClock } from '../platform/retention/retention-clock.ts';
import { tidyFirstSeen } from '../release-times/tidy-seen.ts';
import { tidyRollouts } from '../rollouts/tidy-rollouts.ts';
import { tidyChecks } from '../unfixed/tidy-checks.ts';
import type { Opening } from './parts.ts';

/** Checkpoints and retention of events, and of what outsiders and rollouts make the server keep. */
export function openUpkeep({ config, platform, keyRing, background, workOfOne }: Opening): void {
  background.use(
    'events',
    createEventUpkeep({
      ...{ platform, signer: keyRing, file: openCheckpointFile(config.dataDir) },
      trusted: () => checkpointKeys(keyRing.entries()),
      retentionDays: config.eventsRetentionDays,
    }),
  );
  workOfOne.use('retention clock', createRetentionClock);
  workOfOne.use('outsiders', (fenced) =>
    createOutsiderUpkeep(fenced, [
      tidyClientErrors(fenced),
      tidyFirstSeen(fenced),
      tidyParts(fenced),
      tidyChanges(fenced),
      tidyIdentities(fenced),
      tidyChecks(fenced, config),
      tidyRollouts(fenced),
    ]),
  );
}
