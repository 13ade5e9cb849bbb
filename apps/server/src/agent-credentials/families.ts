import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { endOfToken, type FamilyMaxAgeMs, isPastMaxAge } from './family-age-rules.ts';
import {
  formRefreshToken,
  hashRefreshToken,
  REFRESH_SECRET_BYTES,
  REFRESH_TOKEN_LIFETIME_MS,
} from './refresh-tokens.ts';
import { insertFamily, lockActiveFamily, markFamilyRevoked } from './store.ts';

export interface StartedFamily {
  familyId: string;
  refreshToken: string;
  expiresAtMs: number;
}

/** Whether the agent has an active family that has not expired, nor has its current token; locks it. */
export async function hasLiveFamily(
  tx: Tx,
  platform: Platform,
  { agentId, nowMs, maxAgeMs }: { agentId: string; nowMs: number; maxAgeMs: FamilyMaxAgeMs },
): Promise<boolean> {
  const family = await lockActiveFamily(tx, { engine: platform.database.engine, agentId });
  if (!family || nowMs >= family.expires_at) return false;
  return !isPastMaxAge({ createdAtMs: family.created_at, nowMs }, maxAgeMs);
}

/** Starts a family with its first token. An active but expired family of the agent ends. */
export async function startFamily(
  tx: Tx,
  platform: Platform,
  args: { agentId: string; tagKey: Buffer; nowMs: number; maxAgeMs: FamilyMaxAgeMs },
): Promise<StartedFamily> {
  const { agentId, tagKey, nowMs, maxAgeMs } = args;
  await revokeFamilyOf(tx, platform, { agentId, reason: 'enrolled_again', nowMs });
  const familyId = platform.newId();
  const refreshToken = formRefreshToken(tagKey, {
    familyId,
    seq: 1,
    secret: platform.random(REFRESH_SECRET_BYTES),
  });
  const expiresAtMs = nowMs + REFRESH_TOKEN_LIFETIME_MS;
  await insertFamily(tx, {
    id: familyId,
    agent_id: agentId,
    status: 'active',
    revoked_reason: null,
    revoked_at: null,
    cur_seq: 1,
    cur_hash: hashRefreshToken(refreshToken),
    cur_issued_at: nowMs,
    prev_hash: null,
    prev_issued_at: null,
    prev_grace_used: 0,
    displaced_hashes: '[]',
    request_id_hash: null,
    sealed_child: null,
    created_at: nowMs,
    last_rotated_at: nowMs,
    expires_at: expiresAtMs,
  });
  const endMs = endOfToken({ createdAtMs: nowMs, issuedAtMs: nowMs }, maxAgeMs);
  return { familyId, refreshToken, expiresAtMs: endMs };
}

/** Revokes the active family of an agent; null when it has none. Its access tokens end at their next request. */
export async function revokeFamilyOf(
  tx: Tx,
  platform: Platform,
  { agentId, reason, nowMs }: { agentId: string; reason: string; nowMs: number },
): Promise<string | null> {
  const family = await lockActiveFamily(tx, { engine: platform.database.engine, agentId });
  if (!family) return null;
  await markFamilyRevoked(tx, { familyId: family.id, reason, atMs: nowMs });
  return family.id;
}
