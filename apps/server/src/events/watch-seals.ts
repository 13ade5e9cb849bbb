import type { Clock } from '../platform/clock.ts';
import type { BrokenSeal } from '../platform/db/create-row-seals.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { appendEvent } from './append-event.ts';

/** A row is recorded again after this time, in milliseconds. */
const RECORD_AGAIN_MS = 3_600_000;
/** Rows recorded in that time; more of them add no information. */
export const ROWS_RECORDED_MAX = 100;

export interface SealWatch {
  /** Resolves when everything recorded so far is written. */
  settled(): Promise<void>;
}

/**
 * Records rows that grant rights but have no valid seal: another program writes to the database, or the
 * secret of the data folder differs. Each row is a critical event and a log line, at most once an hour. The
 * event has its own transaction, because the request that read the row is refused and its transaction rolled
 * back.
 */
export function watchSeals(platform: Platform): SealWatch {
  const isDue = createThrottle(platform.now);
  let writing = Promise.resolve();
  platform.database.read.seals.onBroken((broken) => {
    if (!isDue(broken)) return;
    platform.log.security('a row of the database has no valid seal and is refused', { ...broken });
    writing = writing.then(() => record(platform, broken));
  });
  return { settled: () => writing };
}

async function record(platform: Platform, { table, row, reason }: BrokenSeal): Promise<void> {
  try {
    await platform.database.transact((tx) =>
      appendEvent(tx, platform, {
        kind: 'security',
        type: 'ROW_SEAL_BROKEN',
        severity: 'critical',
        component: 'security',
        actor: 'server',
        content: { table, row, reason },
      }),
    );
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error;
    platform.log.error('the event of a broken seal could not be written', { table });
  }
}

function createThrottle(now: Clock): (broken: BrokenSeal) => boolean {
  const recordedAt = new Map<string, number>();
  return ({ table, row }) => {
    const [key, nowMs] = [`${table} ${row}`, now()];
    for (const [each, atMs] of recordedAt) if (nowMs - atMs >= RECORD_AGAIN_MS) recordedAt.delete(each);
    if (recordedAt.has(key) || recordedAt.size >= ROWS_RECORDED_MAX) return false;
    recordedAt.set(key, nowMs);
    return true;
  };
}
