import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { agentEvent } from '../journal/events.ts';

/** The server re-signs the state at most this often, however short the interval (docs/protocol/documents.md). */
const STATE_SIGNED_EVERY_MS = 10_000;
/** So many intervals without a newer signed state are too many (docs/protocol/documents.md). */
const INTERVALS_MAX = 3;

/** Age from which the newest signed state may miss a revocation (T12). */
export function staleAfterMs(intervalMs: number): number {
  return INTERVALS_MAX * Math.max(intervalMs, STATE_SIGNED_EVERY_MS);
}

export type NewestState = { serverTime: string | null; ageSeconds: number | null; isOld: boolean };

/** Age of the stored newest signed state by this host's clock; for `status` and `doctor`. */
export function ageOfState(
  serverTime: string | null,
  now: { intervalMs: number; nowMs: number },
): NewestState {
  if (serverTime === null) return { serverTime, ageSeconds: null, isOld: false };
  const ageMs = now.nowMs - Date.parse(serverTime);
  return { serverTime, ageSeconds: Math.round(ageMs / 1_000), isOld: ageMs > staleAfterMs(now.intervalMs) };
}

/** Measures the time without a newer signed state, by the monotonic clock. */
export interface Freshness {
  /** Records a signed state. Returns the event of a gap that it ends, once. */
  take(serverTime: string, clock: { lastServerTime: string | null; nowMs: number }): AgentEvent | null;
  /** Length of the current gap if it is too long and not yet reported; null otherwise. */
  noticeSilence(intervalMs: number): number | null;
}

/** Creates one for this process. It ignores the time before its start: the host may have been off. */
export function watchFreshness(elapsedMs: () => number): Freshness {
  let newestAtMs = elapsedMs();
  let isSilent = false;
  return {
    take: (serverTime, { lastServerTime, nowMs }) => {
      // The same state again does not count: a replay hides newer ones.
      if (lastServerTime !== null && Date.parse(serverTime) <= Date.parse(lastServerTime)) return null;
      const silentMs = elapsedMs() - newestAtMs;
      newestAtMs = elapsedMs();
      if (!isSilent) return null;
      isSilent = false;
      const seconds = Math.round(silentMs / 1_000);
      const text = `No newer signed state of the fleet came for ${seconds} s: no contact, or somebody withheld it.`;
      const details = {
        check: 'state_stale',
        silent_seconds: seconds,
        last_server_time: lastServerTime,
        server_time: serverTime,
      };
      return agentEvent('AGENT_ERROR', text, { nowMs, details });
    },
    noticeSilence: (intervalMs) => {
      const silentMs = elapsedMs() - newestAtMs;
      if (isSilent || silentMs <= staleAfterMs(intervalMs)) return null;
      isSilent = true;
      return silentMs;
    },
  };
}
