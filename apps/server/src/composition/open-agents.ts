import { createAccessTokens } from '../agent-credentials/access-tokens.ts';
import { createAgentDoor } from '../agents/agent-door.ts';
import { createAgentGuard } from '../agents/agent-guard.ts';
import { cacheSizes } from '../agents/cache-sizes.ts';
import { createCallerReader } from '../agents/read-callers.ts';
import { createOfflineWatch } from '../agents/watch-offline.ts';
import { createAddresses } from '../check-in/addresses.ts';
import { createLastSeen } from '../check-in/last-seen.ts';
import { createPlainCheckIn } from '../check-in/plain-check-in.ts';
import type { Opening } from './parts.ts';

const DAY_MS = 86_400_000;

/** The one door of agents, their credentials, and what their check-ins share. */
export function openAgents(opening: Opening) {
  const { config, platform, secrets, keyRing, limiter, background, workOfOne, counts } = opening;
  const { database, now, random, log } = platform;
  const { refreshFamilyMaxDays: maxDays } = config;
  const { verifiedMaxBytes, lastMaxBytes } = cacheSizes(config.agentCacheMb);
  const accessTokens = createAccessTokens({ secret: secrets.accessTokens, now, random, verifiedMaxBytes });
  const door = createAgentDoor({ config, limiter, accessTokens, readCaller: createCallerReader(database) });
  const lastSeen = background.use('last seen', createLastSeen({ database, log }));
  const addresses = createAddresses({ now, random, lastMaxBytes });
  const checkIn = { platform, config, keyRing, lastSeen, addresses };
  workOfOne.use('offline watch', createOfflineWatch);
  return {
    guard: createAgentGuard({ platform, door }),
    /** For the routes that issue credentials. */
    credentials: {
      ...{ platform, limiter, accessTokens, keyRing, tagKey: secrets.refreshTags },
      familyMaxAgeMs: maxDays === null ? null : maxDays * DAY_MS,
      minAgentVersion: config.minAgentVersion,
    },
    checkIn,
    plainCheckIn: createPlainCheckIn({ ...checkIn, door, answered: counts?.answered ?? null }),
  };
}
