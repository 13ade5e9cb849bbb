import { rfc3339Seconds } from '../clock.ts';
import type { Platform } from '../platform.ts';
import { type BackgroundWork, guarded, repeat } from '../repeat.ts';
import { isDoubted, LOOK_MS, lookAtClock } from './clock-rules.ts';
import { readRetentionClock, saveRetentionClock } from './store.ts';

/**
 * The time by which old rows are removed: never later than the clock, and never later than what the server believes of it. One
 * wrong reading makes nothing old.
 */
export async function retentionTime({ database, now }: Pick<Platform, 'database' | 'now'>): Promise<number> {
  const row = await readRetentionClock(database.read);
  return Math.min(row?.believed_at ?? Number.POSITIVE_INFINITY, now());
}

/** What is written further ahead than this is of another clock, in milliseconds: two servers never differ so much. */
const AHEAD_MS = 3_600_000;

/**
 * Times after this one were written by a clock that was ahead and has been set back. Null while the server does not believe its
 * clock: the reading of now may be the wrong one.
 */
export async function aheadTime({
  database,
  now,
}: Pick<Platform, 'database' | 'now'>): Promise<number | null> {
  const row = await readRetentionClock(database.read);
  return row === null || isDoubted(row) ? null : Math.max(row.believed_at, now()) + AHEAD_MS;
}

/** Looks at the clock again and again. */
export function createRetentionClock(platform: Platform): BackgroundWork {
  return repeat({
    intervalMs: LOOK_MS,
    run: () =>
      guarded(platform, 'the clock was not compared with the last time', () => keepRetentionClock(platform)),
  });
}

/** One look; says in the log when the clock has jumped, and when it is believed again. */
export async function keepRetentionClock({
  database,
  now,
  log,
}: Pick<Platform, 'database' | 'now' | 'log'>): Promise<void> {
  const before = await readRetentionClock(database.read);
  const row = lookAtClock(before, now());
  await database.transact((tx) => saveRetentionClock(tx, row));
  const [wasDoubted, isNow] = [before !== null && isDoubted(before), isDoubted(row)];
  if (wasDoubted === isNow) return;
  const fields = { clock: rfc3339Seconds(row.read_at), believed: rfc3339Seconds(row.believed_at) };
  if (isNow)
    log.warn('the clock has jumped: nothing newly old is removed until it has stood for a week', fields);
  else log.info('the clock is believed again: what is old is removed', fields);
}
