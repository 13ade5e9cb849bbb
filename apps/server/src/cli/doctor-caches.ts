import { rememberedAgents } from '../agents/cache-sizes.ts';
import { countAgentsWithKeySet } from '../agents/store.ts';
import type { Config } from '../config.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

/** Compares the fleet with what SERVICE_AGENT_CACHE_MB remembers. */
export async function judgeAgentCache({ agentCacheMb }: Config, { read }: Database): Promise<Finding> {
  const check = 'agent cache';
  const [enrolled, remembered] = [await countAgentsWithKeySet(read, 0), rememberedAgents(agentCacheMb)];
  const size = `${agentCacheMb} MB (SERVICE_AGENT_CACHE_MB) remember ${remembered} agents`;
  if (enrolled <= remembered) return { check, level: 'ok', detail: `${size}; ${enrolled} are enrolled` };
  const detail = `${size}, and ${enrolled} are enrolled: check-ins that are not remembered cost about twice the CPU`;
  const needed = Math.ceil((agentCacheMb * enrolled) / remembered);
  return { check, level: 'warn', detail, todo: `set SERVICE_AGENT_CACHE_MB to ${needed} or more` };
}
