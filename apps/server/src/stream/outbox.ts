import { STREAM_IDS_MAX, type StreamTopic } from '@tidegate/protocol/stream-api';
import type { Change } from './topic-rules.ts';

/** Unread messages of one reader: at most one per topic, however much changes meanwhile. */
export interface Outbox {
  add(changes: readonly Change[]): void;
  /** Marks that a heartbeat is due. False if the previous one was not taken either: nobody reads. */
  beat(): boolean;
  /** Waits for a message, or for the end. */
  take(signal: AbortSignal): Promise<{ changes: Change[]; beat: boolean }>;
}

export function createOutbox({ withIds }: { withIds: boolean }): Outbox {
  const waiting = new Map<StreamTopic, readonly string[] | null>();
  let isBeatDue = false;
  let wake: (() => void) | null = null;

  return {
    add(changes) {
      for (const { topic, ids } of changes) {
        const before = waiting.has(topic) ? (waiting.get(topic) ?? null) : [];
        waiting.set(topic, withIds ? together(before, ids) : null);
      }
      wake?.();
    },
    beat() {
      if (isBeatDue) return false;
      isBeatDue = true;
      wake?.();
      return true;
    },
    async take(signal) {
      if (waiting.size === 0 && !isBeatDue && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
        await promise;
        wake = null;
      }
      const taken = { changes: [...waiting].map(([topic, ids]) => ({ topic, ids })), beat: isBeatDue };
      waiting.clear();
      isBeatDue = false;
      return taken;
    },
  };
}

/** Merges ids; null, meaning any, if either is null or they are too many. */
function together(a: readonly string[] | null, b: readonly string[] | null): readonly string[] | null {
  if (a === null || b === null) return null;
  const ids = [...new Set([...a, ...b])];
  return ids.length > STREAM_IDS_MAX ? null : ids;
}
