import { listenToHosts } from '../agents/listen-to-hosts.ts';
import type { Listening } from '../platform/listening.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { expireReboots } from './end-reboot.ts';
import { followAttempts } from './follow-attempts.ts';
import { offerReboots } from './offer-reboots.ts';
import { settleSlots } from './settle-slots.ts';
import { overdueReboots, removeEnded } from './store.ts';
import { takeBackAhead } from './take-back-ahead.ts';

/** The longest time between two turns, in milliseconds. */
export const INTERVAL_MS = 15_000;
/** Rows that one turn ends or removes. */
const BATCH = 500;
/** How long what has ended is kept, in milliseconds. */
const KEPT_MS = 90 * 86_400_000;

const never = () => false;

/**
 * One turn of the queue: hosts that are back, attempts that are over, deadlines, and then who is next. After a gap between
 * turns no host fails before it had the time to report.
 */
export async function runRebootsOnce(
  platform: Platform,
  listening: Listening,
  isStopped: () => boolean = never,
): Promise<void> {
  const turn = { listeningSince: await listening.since(platform.now()), isStopped };
  await settleSlots(platform, turn);
  await followAttempts(platform, turn);
  await endOverdue(platform);
  await takeBackAhead(platform);
  await offerReboots(platform, isStopped);
  const beforeMs = (await retentionTime(platform)) - KEPT_MS;
  await platform.database.transact((tx) => removeEnded(tx, { beforeMs, limit: BATCH }));
  listening.looked(platform.now());
}

async function endOverdue(platform: Platform): Promise<void> {
  const { database } = platform;
  const overdue = await overdueReboots(database.read, { nowMs: platform.now(), limit: BATCH });
  if (overdue.length > 0) await database.transact((tx) => expireReboots(tx, platform, overdue));
}

export function createRebootBackground(platform: Platform, every: { intervalMs: number }): BackgroundWork {
  const intervalMs = Math.min(every.intervalMs, INTERVAL_MS);
  const listening = listenToHosts(platform, intervalMs);
  return repeat({
    intervalMs,
    run: (isStopped) =>
      guarded(platform, 'the queue of reboots stopped', () => runRebootsOnce(platform, listening, isStopped)),
  });
}
