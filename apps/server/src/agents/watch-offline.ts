import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { createPace } from '../platform/turns.ts';
import { listenToHosts } from './listen-to-hosts.ts';
import { claimSilence, findSilentAgents } from './silence-store.ts';

const EVERY_MS = 30_000;
/** Hosts per transaction: a failing network silences a whole fleet at once. */
export const CHUNK = 200;

/** Reports each host once when it goes silent; nothing else would reveal it. */
export function createOfflineWatch(platform: Platform): BackgroundWork {
  const looks = createSilenceLooks(platform);
  return repeat({
    intervalMs: EVERY_MS,
    run: (isStopped) => guarded(platform, 'the check for silent hosts failed', () => looks.next(isStopped)),
  });
}

/** The looks of one watch. After a gap between them no host is silent before it had the time to be heard again. */
export function createSilenceLooks(platform: Platform): {
  next(isStopped?: () => boolean): Promise<number>;
} {
  const listening = listenToHosts(platform, EVERY_MS);
  return {
    async next(isStopped = () => false) {
      const listeningSince = await listening.since(platform.now());
      const told = await reportSilentAgents(platform, { listeningSince, isStopped });
      listening.looked(platform.now());
      return told;
    },
  };
}

interface SilenceLook {
  listeningSince: number;
  isStopped: () => boolean;
  /** Called after each transaction. */
  pace?: () => Promise<void>;
}

/**
 * Records `agent_offline` for every host without a check-in for three of its intervals, once per silence. After a
 * pause of the server these begin when hosts can be back. Returns the number of events.
 */
export async function reportSilentAgents(
  platform: Platform,
  { listeningSince, isStopped, pace = createPace() }: SilenceLook,
): Promise<number> {
  const nowMs = platform.now();
  let told = 0;
  while (!isStopped()) {
    const silent = await findSilentAgents(platform.database.read, {
      nowMs,
      listeningSince,
      limit: CHUNK,
    });
    if (silent.length === 0) break;
    told += await platform.database.transact(async (tx) => {
      let claimed = 0;
      for (const agent of silent) {
        // Another replica may have reported it, or the host may have come back, since it was read.
        if (!(await claimSilence(tx, { agentId: agent.id, lastSeenAt: agent.last_seen_at }))) continue;
        claimed++;
        await appendEvent(tx, platform, {
          kind: 'system',
          type: 'agent_offline',
          severity: 'warning',
          component: 'agents',
          agentId: agent.id,
          actor: 'server',
          content: { hostname: agent.hostname, last_seen_at: rfc3339(agent.last_seen_at) },
        });
      }
      return claimed;
    });
    await pace();
  }
  return told;
}
