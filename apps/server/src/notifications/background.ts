import { DELIVERIES_KEPT_DAYS } from '@tidegate/protocol/notifications-api';
import { createDue } from '../platform/due.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { deleteEnded } from './delivery-store.ts';
import { escalate } from './escalate.ts';
import { type DigestDeps, sendDigests } from './send-digests.ts';
import { type Looks, takeEvents } from './take-events.ts';
import { type WatchDeps, watchExploited } from './watch-exploited.ts';

const DAY_MS = 24 * 3_600_000;
/** How often the state of updates is looked at, for exploited fixes and escalations. */
const STATE_MS = 60_000;
const TIDY_MS = 3_600_000;
/** Ended deliveries that one step removes. */
const TIDY_STEP = 500;
/** Ended deliveries of one channel that are kept. */
const KEPT_OF_CHANNEL = 5_000;

/** Decides what is sent: events at once, digests at their time, escalations; and removes old deliveries. */
export function createNotifier(
  deps: DigestDeps,
  {
    advisories,
    advisoryMaxAgeMs,
    tickMs,
  }: Pick<WatchDeps, 'advisories' | 'advisoryMaxAgeMs'> & { tickMs: number },
): BackgroundWork {
  const { platform } = deps;
  const looks: Looks = new Map();
  const againAt = new Map<string, number>();
  const isStateDue = createDue(STATE_MS);
  const isTidyDue = createDue(TIDY_MS);

  async function run(isStopped: () => boolean): Promise<void> {
    const nowMs = platform.now();
    if (isStateDue(nowMs)) {
      await watchExploited({ platform, advisories, advisoryMaxAgeMs, againAt }, isStopped);
      await escalate(deps);
    }
    await takeEvents(deps, looks, isStopped);
    await sendDigests(deps, isStopped);
    if (!isStopped() && isTidyDue(nowMs)) await tidyDeliveries(platform, isStopped);
  }

  return repeat({
    intervalMs: tickMs,
    async run(isStopped) {
      try {
        await run(isStopped);
      } catch (error) {
        // An unavailable database must not end the process: the next tick tries again.
        if (!isStopped()) platform.log.error('notifications were not decided', { error: String(error) });
      }
    },
  });
}

/** Removes what ended long ago, and the oldest of too many: the outbox does not grow with the age of the server. */
export async function tidyDeliveries(
  platform: Pick<Platform, 'database' | 'now'>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const beforeMs = (await retentionTime(platform)) - DELIVERIES_KEPT_DAYS * DAY_MS;
  const step = { beforeMs, keptOfChannel: KEPT_OF_CHANNEL, limit: TIDY_STEP };
  while (!isStopped()) {
    const removed = await platform.database.transact((tx) => deleteEnded(tx, step));
    if (removed < TIDY_STEP) return;
  }
}
