import { createDue } from '../platform/due.ts';
import type { BackgroundWork } from '../platform/repeat.ts';
import { guarded, repeat } from '../platform/repeat.ts';
import { chainKept } from './chain-events.ts';
import { type CheckpointDeps, makeCheckpoint } from './make-checkpoint.ts';
import type { CheckpointKeys } from './open-checkpoint.ts';
import { finishRemoval, pruneEvents } from './prune-events.ts';
import { oldestUnchained } from './store.ts';

/** How often checkpoints are checked. */
const LOOK_MS = 15_000;
const PRUNE_INTERVAL_MS = 3_600_000;

/** Signs checkpoints and, if a retention is set, prunes older events, behind the requests. */
export function createEventUpkeep(
  deps: CheckpointDeps & { trusted: () => CheckpointKeys; retentionDays: number | null },
): BackgroundWork {
  const { platform, signer, trusted, retentionDays } = deps;
  const isPruneDue = createDue(PRUNE_INTERVAL_MS);
  let isTruncationTold = false;

  async function look(isStopped: () => boolean): Promise<void> {
    // Those of a process that ended between its commit and their place in the chain.
    if ((await oldestUnchained(platform.database.read)) !== null) await platform.database.transact(chainKept);
    const outcome = await makeCheckpoint(deps, 'due');
    if (outcome.kind === 'truncated' && !isTruncationTold) {
      isTruncationTold = true;
      const { head, checkpoint } = outcome;
      platform.log.error(
        'the log of events ends before its last checkpoint: run `tidegate doctor --verify-events`',
        {
          head,
          checkpoint,
        },
      );
    }
    // Of an act, or of a process that ended in the middle of one.
    await finishRemoval(platform, { isStopped });
    if (retentionDays === null || !isPruneDue(platform.now())) return;
    const how = { signer, trusted: trusted(), isStopped };
    const { removed, refused } = await pruneEvents(platform, { retentionDays, ...how });
    if (removed > 0) platform.log.info('events pruned', { removed });
    if (refused !== null)
      platform.log.error('events are not pruned: run `tidegate doctor --verify-events`', { refused });
  }

  return repeat({
    intervalMs: LOOK_MS,
    run: (isStopped) => guarded(platform, 'upkeep of the log of events failed', () => look(isStopped)),
  });
}
