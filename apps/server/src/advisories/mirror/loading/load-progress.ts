import type { Platform } from '../../../platform/platform.ts';
import { beat } from './store.ts';

/** How often a load reports its progress in the log, and in the database. */
const LOG_EVERY_MS = 10_000;
const BEAT_EVERY_MS = 2_000;

/** A load or a delta of one ecosystem that this process has claimed. */
export interface LoadProgress {
  readonly base: string;
  readonly loadId: number;
  /** Reports progress of a phase. @throws LoadLost when another process has taken the load over. */
  at(phase: string, done: number, total: number): Promise<void>;
}

/** Another process took the load over: this one changes nothing more. */
export class LoadLost extends Error {
  override name = 'LoadLost';
}

/** `onStep` gets every step, also those that the log throttles; the command line shows them. */
export function createLoadProgress(
  platform: Platform,
  { base, loadId, onStep }: { base: string; loadId: number; onStep?: (text: string) => void },
): LoadProgress {
  let shown = '';
  let loggedAt = Number.NEGATIVE_INFINITY;
  let beatenAt = Number.NEGATIVE_INFINITY;
  return {
    base,
    loadId,
    async at(phase, done, total) {
      onStep?.(`${base}: ${phase} ${done}${total > 0 ? ` of ${total}` : ''}`);
      const nowMs = platform.now();
      const isNewPhase = phase !== shown;
      if (isNewPhase || nowMs - loggedAt >= LOG_EVERY_MS) {
        shown = phase;
        loggedAt = nowMs;
        platform.log.info('advisory mirror loads', { ecosystem: base, phase, done, total });
      }
      if (!isNewPhase && nowMs - beatenAt < BEAT_EVERY_MS) return;
      beatenAt = nowMs;
      const isMine = await platform.database.transact((tx) =>
        beat(tx, { loadId, nowMs, phase, done, total }),
      );
      if (!isMine) throw new LoadLost(`another process took over the load of ${base}`);
    },
  };
}
