import { CALENDAR_RUNS_DAYS } from '@tidegate/protocol/calendar-api';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { RUN_SLOT_MS, runSlotOf } from '../policies/run-slots.ts';
import { dropSlotsBefore } from '../policies/store.ts';
import {
  addRuns,
  countedUntil,
  dropRunsBefore,
  dropRunsFrom,
  endedIn,
  firstChangeSince,
  moveMark,
} from './runs-store.ts';

const EVERY_MS = 60_000;
/** Rows are counted this long after they were written: another server's clock differs, or its transaction is still open. */
const LAG_MS = 2 * 60_000;
const DAY_MS = 86_400_000;
/** A clock that was set back by less catches up with what is counted; by more, it is counted anew. */
const MARK_AHEAD_MAX_MS = DAY_MS;

type Means = Pick<Platform, 'database' | 'now'>;

/** Counts the installations that ended, each once, also where several servers count. */
export function createRunCounter(platform: Means & Pick<Platform, 'log'>): BackgroundWork {
  return repeat({
    intervalMs: EVERY_MS,
    async run(isStopped) {
      try {
        while (!isStopped() && (await countRuns(platform)));
      } catch (error) {
        platform.log.error('what ran was not counted', { error: String(error) });
      }
    },
  });
}

/** Counts up to the end of the next quarter of an hour in which a command changed. True if there is more to count. */
export async function countRuns({ database, now }: Means): Promise<boolean> {
  const nowMs = now();
  const oldestMs = nowMs - CALENDAR_RUNS_DAYS * DAY_MS;
  const dueMs = nowMs - LAG_MS;
  const from = await countedUntil(database.read);
  if (from !== null && from > nowMs + MARK_AHEAD_MAX_MS) {
    // The clock was set back. The last day is counted again, from its commands.
    const slot = runSlotOf(dueMs - DAY_MS);
    await database.transact(async (tx) => {
      if (await moveMark(tx, { from, to: slot * RUN_SLOT_MS })) await dropRunsFrom(tx, slot);
    });
    return true;
  }
  const fromMs = Math.max(from ?? 0, oldestMs);
  if (fromMs >= dueMs) return false;
  const nextMs = Math.min((await firstChangeSince(database.read, fromMs)) ?? dueMs, dueMs);
  const slot = runSlotOf(nextMs);
  const toMs = Math.min((slot + 1) * RUN_SLOT_MS, dueMs);
  const ended = await endedIn(database.read, { fromMs: nextMs, toMs });
  const keptFrom = runSlotOf((await retentionTime({ database, now })) - CALENDAR_RUNS_DAYS * DAY_MS);
  await database.transact(async (tx) => {
    if (!(await moveMark(tx, { from, to: toMs }))) return;
    await addRuns(
      tx,
      ended.map((row) => ({ slot, ...row })),
    );
    await dropRunsBefore(tx, keptFrom);
    await dropSlotsBefore(tx, keptFrom);
  });
  return toMs < dueMs;
}
