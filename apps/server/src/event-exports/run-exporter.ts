import { nextEvents, passEvents, passOver } from '../events/follow-events.ts';
import { endFollowerLease, leaseFollower } from '../events/followers-store.ts';
import type { EventRow } from '../events/store.ts';
import type { Platform } from '../platform/platform.ts';
import { repeat } from '../platform/repeat.ts';

/** How often the log is asked for new events, in milliseconds. */
const LOOK_MS = 1_000;
/** Events of one batch, which is all that is in memory. */
const BATCH_MAX = 200;
/** Longer than a batch takes to be sent: after it another server may send it. */
const LEASE_MS = 60_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

export type Sent =
  /** `rejected`: how many of them the receiver has taken and thrown away. */
  | { readonly kind: 'sent'; readonly rejected?: number; readonly reason?: string }
  /** To be sent again later. */
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number }
  /** The receiver will not take this batch, ever. */
  | { readonly kind: 'refused'; readonly reason: string };

export type Send = (events: readonly EventRow[], signal: AbortSignal) => Promise<Sent>;

export interface ExporterOptions {
  /** Of its position in the log. */
  name: string;
  send: Send;
  lookMs?: number;
}

/**
 * Sends every event of the log in its order, each at least once: the kept position moves when the receiver has a batch. A
 * receiver that is away is asked again after pauses that double, and nothing but the position is kept for it. Of several
 * servers on one database one sends at a time, batch by batch.
 */
export function createExporter(platform: Platform, { name, send, lookMs = LOOK_MS }: ExporterOptions) {
  const { database, log, now, random } = platform;
  const stopping = new AbortController();
  let failures = 0;
  let waits = { fromMs: 0, untilMs: 0 };
  let batchMax = BATCH_MAX;
  let isBegun = false;

  function failed(reason: string, retryAfterMs = 0): void {
    const longestMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 16));
    // Spread after the cap, so that several servers do not return together.
    const pauseMs = longestMs * (0.5 + random(4).readUInt32BE(0) / 0x2_0000_0000);
    waits = { fromMs: now(), untilMs: now() + Math.max(retryAfterMs, pauseMs) };
    if (failures++ === 0)
      log.warn('events cannot be exported; they are kept and sent again', { to: name, reason });
  }

  /** True if there may be more. */
  async function exportBatch(): Promise<boolean> {
    const { events, passed } = await nextEvents(platform, { name, begin: 'oldest', limit: batchMax });
    if (events.length === 0) return false;
    const lease = { name, position: passed.from, nowMs: now(), leaseMs: LEASE_MS };
    if (!(await database.transact((tx) => leaseFollower(tx, lease)))) return false;
    const sent = await send(events, stopping.signal);
    if (sent.kind === 'failed') await database.transact((tx) => endFollowerLease(tx, name));
    switch (sent.kind) {
      case 'failed':
        if (!stopping.signal.aborted) failed(sent.reason, sent.retryAfterMs);
        return false;
      case 'refused':
        if (events.length > 1) {
          await database.transact((tx) => endFollowerLease(tx, name));
          batchMax = Math.ceil(events.length / 2);
          return true;
        }
        log.error('an event was refused and is passed over', { to: name, reason: sent.reason });
        await database.transact((tx) => passOver(tx, platform, passed));
        batchMax = BATCH_MAX;
        return true;
      case 'sent':
        await database.transact((tx) => passEvents(tx, platform, passed));
        if (sent.rejected) log.error('the receiver threw events away', { to: name, ...sent });
        if (failures > 0) log.info('events are exported again', { to: name, after_failures: failures });
        failures = 0;
        batchMax = BATCH_MAX;
        return true;
    }
  }

  const work = repeat({
    intervalMs: lookMs,
    async run(isStopped) {
      // A clock that was set back must not keep the exporter waiting.
      if (now() >= waits.fromMs && now() < waits.untilMs) return;
      try {
        // What a dead server was sending: this one may be its successor.
        if (!isBegun) await database.transact((tx) => endFollowerLease(tx, name));
        isBegun = true;
        while (!isStopped() && (await exportBatch())) {}
      } catch (error) {
        // An unavailable database must not end the process: the next run tries again.
        failed(String(error));
      }
    },
  });
  return {
    start: work.start,
    stop() {
      stopping.abort();
      return work.stop();
    },
  };
}
