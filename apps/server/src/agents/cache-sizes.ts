const MEBIBYTE = 1_048_576;
/** A record of a verified token, and of a last address. */
const [TOKEN_BYTES, ADDRESS_BYTES] = [52, 28];
/** An agent has two tokens while one replaces the other. */
const AGENT_BYTES = 2 * TOKEN_BYTES + ADDRESS_BYTES;
/** Share of its slots that a cache of the largest size fills before it evicts more than a few. */
const FILLED_SHARE = 0.85;

export interface CacheSizes {
  verifiedMaxBytes: number;
  lastMaxBytes: number;
}

/** What SERVICE_AGENT_CACHE_MB gives to verified tokens and last addresses. */
export function cacheSizes(agentCacheMb: number): CacheSizes {
  const bytes = agentCacheMb * MEBIBYTE;
  const lastMaxBytes = Math.floor((bytes * ADDRESS_BYTES) / AGENT_BYTES);
  return { verifiedMaxBytes: bytes - lastMaxBytes, lastMaxBytes };
}

/** Agents of which the caches remember 199 of 200, at least. */
export function rememberedAgents(agentCacheMb: number): number {
  return Math.floor((agentCacheMb * MEBIBYTE * FILLED_SHARE) / AGENT_BYTES);
}
