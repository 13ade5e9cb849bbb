import type { Clock } from '../platform/clock.ts';
import type { BrokenSeal } from '../platform/db/create-row-seals.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { appendEvent } from './append-event.ts';

/** How long a row that was told stays told, in milliseconds. */
const TELL_AGAIN_MS = 3_600_000;
/** Rows that are told in that time; more of them say nothing new. */
export const ROWS_TOLD_MAX = 100;

export interface SealWatch {
  /** Ends when everything that was noticed so far is written. */
  settled(): Promise<void>;
}

/**
 * Tells of rows that give rights and bear no seal of this server: somebody else writes to the database, or the secret of
 * the data folder is another one. A critical event and a line in the log, once an hour for each row. The event has a
 * transaction of its own: the request that met the row is refused, and nothing of it is written.
 */
export function watchSeals(platform: Platform): SealWatch {
  const isDue = createThrottle(platform.now);
  let writing = Promise.resolve();
  platform.database.read.seals.onBroken((broken) => {
    if (!isDue(broken)) return;
    platform.log.security('a row of the database bears no valid seal and is refused', { ...broken });
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
  const toldAt = new Map<string, number>();
  return ({ table, row }) => {
    const [key, nowMs] = [`${table} ${row}`, now()];
    for (const [each, atMs] of toldAt) if (nowMs - atMs >= TELL_AGAIN_MS) toldAt.delete(each);
    if (toldAt.has(key) || toldAt.size >= ROWS_TOLD_MAX) return false;
    toldAt.set(key, nowMs);
    return true;
  };
}
