import type { Clock } from '../platform/clock.ts';

/** How long an agent that came from another address is left to the server. */
export const WATCHED_MS = 3_600_000;
/** As many as the server keeps addresses of with their times. */
export const WATCHED_MAX = 20_000;

/** Agents whose check-ins are left to the server, which compares their addresses with their times (T3). */
export interface Watched {
  add(agentIds: readonly string[]): void;
  has(agentId: string): boolean;
}

/** Past WATCHED_MAX those that were added first are dropped: the server names them again. */
export function createWatched(now: Clock): Watched {
  const untilMs = new Map<string, number>();
  return {
    add(agentIds) {
      for (const agentId of agentIds) {
        untilMs.delete(agentId);
        untilMs.set(agentId, now() + WATCHED_MS);
        const [first] = untilMs.size > WATCHED_MAX ? untilMs.keys() : [];
        if (first !== undefined) untilMs.delete(first);
      }
    },
    has(agentId) {
      if (untilMs.size === 0) return false;
      const until = untilMs.get(agentId);
      if (until === undefined) return false;
      if (now() < until) return true;
      untilMs.delete(agentId);
      return false;
    },
  };
}
