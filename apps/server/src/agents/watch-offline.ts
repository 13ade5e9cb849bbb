import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { CHECK_IN_INTERVAL_SECONDS, ONLINE_INTERVALS } from './presence.ts';
import { claimSilence, findSilentAgents } from './store.ts';

const EVERY_MS = 30_000;
/** Hosts told of in one transaction: a network that fails takes a whole fleet away at once. */
const CHUNK = 200;

/** Says once of each host that it has gone silent, which nobody would hear of otherwise. */
export function createOfflineWatch(platform: Platform, { bootedAt }: { bootedAt: number }): BackgroundWork {
  return repeat({
    intervalMs: EVERY_MS,
    async run(isStopped) {
      try {
        await tellOfSilence(platform, { bootedAt, isStopped });
      } catch (error) {
        platform.log.error('the watch for silent hosts failed', { error: String(error) });
      }
    },
  });
}

/**
 * Leaves an `agent_offline` for every host that was not heard of for three of its intervals, once for each silence.
 * A server that was down itself waits as long before it calls others silent. Returns how many it told of.
 */
export async function tellOfSilence(
  platform: Platform,
  { bootedAt, isStopped }: { bootedAt: number; isStopped: () => boolean },
): Promise<number> {
  const nowMs = platform.now();
  let told = 0;
  while (!isStopped()) {
    const silent = await findSilentAgents(platform.database.read, {
      nowMs,
      bootedAt,
      intervals: ONLINE_INTERVALS,
      intervalSeconds: CHECK_IN_INTERVAL_SECONDS,
      limit: CHUNK,
    });
    if (silent.length === 0) break;
    told += await platform.database.transact(async (tx) => {
      let claimed = 0;
      for (const agent of silent) {
        // Another replica may have told, or the host have come back, since it was read.
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
  }
  return told;
}
