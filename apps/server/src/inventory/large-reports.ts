import { Refusal } from '../platform/http/refusal.ts';
import type { RandomBytes } from '../platform/ids.ts';
import { createReportReader, type ReaderOptions, type ReportReader } from './report-reader.ts';

/** Larger bodies are read in a thread of their own, in bytes after decompression; 1,500 packages are half of it. */
export const SMALL_REPORT_MAX_BYTES = 256 * 1024;
/** Larger reports are written in many transactions: packages, updates and actions of plans, and what was stored. */
export const SMALL_REPORT_MAX_ITEMS = 3_000;
/** Compressed bodies from this size on are taken for large ones before they are read; 1,500 packages are a third of it. */
export const LARGE_COMPRESSED_BYTES = 64 * 1024;
/** Large reports under way at once: one may be read while another is written. */
const RUNNING_MAX = 2;
/** Large reports that wait for their turn, each with its body; the next one is refused. */
export const WAITING_MAX = 8;
/** Seconds after which a host that was refused comes back: between this and twice this. */
const RETRY_SECONDS = 10;

/** Where large reports are read and written: few at a time, and one of a host. */
export interface LargeReports extends ReportReader {
  /** Throws the same Refusal where there is no room now: asked before a large body is read. */
  demandRoom(agentId: string): void;
  /** Runs the work in its turn, or throws the Refusal `unavailable` (503). */
  admit<T>(agentId: string, work: () => Promise<T>): Promise<T>;
}

export function createLargeReports({
  random,
  ...options
}: ReaderOptions & { random: RandomBytes }): LargeReports {
  const reader = createReportReader(options);
  const hosts = new Set<string>();
  const waiting: (() => void)[] = [];
  let running = 0;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running < RUNNING_MAX) running++;
    else {
      // The one that ends hands its place over, so the count stays as it is.
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  function demandRoom(agentId: string): void {
    const jitterSeconds = (random(1)[0] ?? 0) % (RETRY_SECONDS + 1);
    const retryAfterSeconds = RETRY_SECONDS + jitterSeconds;
    if (hosts.has(agentId)) {
      const detail = 'A large report of this host is under way; send the next one when it is over.';
      throw new Refusal('unavailable', { detail, retryAfterSeconds });
    }
    if (waiting.length >= WAITING_MAX) {
      const detail = 'Too many large reports at once; try again after the time in Retry-After.';
      throw new Refusal('unavailable', { detail, retryAfterSeconds });
    }
  }

  return {
    demandRoom,
    async admit(agentId, work) {
      demandRoom(agentId);
      hosts.add(agentId);
      try {
        return await inTurn(work);
      } finally {
        hosts.delete(agentId);
      }
    },
    ...reader,
  };
}
