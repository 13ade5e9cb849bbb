import { setTimeout as pause } from 'node:timers/promises';
import type { Platform } from './platform.ts';

/** Younger counts are answered unchanged, in milliseconds. */
const FRESH_MS = 5_000;
/** Maximum share of time spent on counting. */
const SHARE = 20;
/** How long an answer waits for new counts if there are older ones, in milliseconds. */
const WAIT_MS = 40;

export interface Counted {
  readonly asOfMs: number;
}

/** Counts that many callers share. */
export interface Fresh<T> {
  /** Current or slightly older counts, with their time. */
  get(): Promise<T>;
  /** Counts anew, however long that takes; waits for a count in progress. */
  count(): Promise<T>;
  /** Waits for a count in progress. */
  stop(): Promise<void>;
}

/** Counts at most every few seconds for all callers; only a first caller waits long. */
export function keepFresh<T extends Counted>(
  platform: Pick<Platform, 'now' | 'log'>,
  { take, failure }: { take: () => Promise<T>; failure: string },
): Fresh<T> {
  let kept: T | null = null;
  let tookMs = 0;
  let running: Promise<T> | null = null;

  function count(): Promise<T> {
    const startMs = performance.now();
    running ??= take()
      .then((counted) => {
        kept = counted;
        tookMs = performance.now() - startMs;
        return counted;
      })
      .finally(() => {
        running = null;
      });
    return running;
  }

  return {
    async get() {
      const known = kept;
      if (known === null) return count();
      const ageMs = Math.abs(platform.now() - known.asOfMs);
      if (ageMs < Math.max(FRESH_MS, SHARE * tookMs)) return known;
      const next = count().catch((error: unknown) => {
        platform.log.warn(failure, { error: String(error) });
        return known;
      });
      return Promise.race([next, pause(WAIT_MS, known)]);
    },
    count,
    async stop() {
      await Promise.allSettled([running]);
    },
  };
}
