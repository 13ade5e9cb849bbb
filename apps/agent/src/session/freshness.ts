import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { agentEvent } from '../journal/events.ts';

/** The state is signed anew at most this often, however short the interval (docs/protocol/documents.md). */
const STATE_SIGNED_EVERY_MS = 10_000;
/** So many intervals without a newer signed state are too many (docs/protocol/documents.md). */
const INTERVALS_MAX = 3;

/** Age of the newest signed state from which silence may hide a revocation (T12). */
export function staleAfterMs(intervalMs: number): number {
  return INTERVALS_MAX * Math.max(intervalMs, STATE_SIGNED_EVERY_MS);
}

export type NewestState = { serverTime: string | null; ageSeconds: number | null; isOld: boolean };

/** How old the newest signed state is that was kept, by this host's clock; for those that look from outside. */
export function ageOfState(
  serverTime: string | null,
  now: { intervalMs: number; nowMs: number },
): NewestState {
  if (serverTime === null) return { serverTime, ageSeconds: null, isOld: false };
  const ageMs = now.nowMs - Date.parse(serverTime);
  return { serverTime, ageSeconds: Math.round(ageMs / 1_000), isOld: ageMs > staleAfterMs(now.intervalMs) };
}

/** Watches how long no newer signed state has come, by a clock that nobody sets. */
export interface Freshness {
  /** A signed state came. Returns the event of a silence that has ended with it, once. */
  take(serverTime: string, clock: { lastServerTime: string | null; nowMs: number }): AgentEvent | null;
  /** For how long nothing newer has come, where that is too long and was not told before; null otherwise. */
  noticeSilence(intervalMs: number): number | null;
}

/** Makes one for this process. What was before its start is not known to it: the host may have been off. */
export function watchFreshness(elapsedMs: () => number): Freshness {
  let newestAtMs = elapsedMs();
  let isSilent = false;
  return {
    take: (serverTime, { lastServerTime, nowMs }) => {
      // The same one again is no news: a replay keeps the host from what came after it.
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
