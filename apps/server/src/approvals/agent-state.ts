import {
  AGENT_STATE_TYPE,
  type AgentStatePayload,
  type Envelope,
  REVOKED_TOKENS_MAX,
} from '@tidegate/protocol/documents';
import { COMMAND_LIFETIME_MS } from '../commands/queue-command.ts';
import { deliveredVoidCommands } from '../commands/store.ts';
import { rfc3339, rfc3339Seconds } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { deliveredVoidApprovals } from './store.ts';

/** Agents accept an approval some minutes beyond its end, as clocks differ; it stays listed for longer than that. */
const EXPIRY_MARGIN_MS = 3_600_000;

export interface AgentStateDeps {
  platform: Pick<Platform, 'database' | 'now'>;
  keyRing: Pick<KeyRing, 'fleetId' | 'epoch' | 'signer' | 'state'> & { keySet(): { version: number } };
}

/**
 * Signs the list of an agent's delivered approvals that are void or expired, and of its cancelled commands, which the agent checks
 * before it has anything done.
 */
export async function signAgentState(
  { platform, keyRing }: AgentStateDeps,
  agentId: string,
): Promise<Envelope> {
  // Another replica may have changed the keys: reading the fleet's state bounds how long that stays unnoticed.
  await keyRing.state();
  // Taken before the list is read: the list is never older than its time.
  const nowMs = platform.now();
  const limit = REVOKED_TOKENS_MAX + 1;
  const approvals = await deliveredVoidApprovals(platform.database.read, {
    ...{ agentId, nowMs, expiresAfterMs: nowMs - EXPIRY_MARGIN_MS, limit },
  });
  const sinceMs = nowMs - COMMAND_LIFETIME_MS - EXPIRY_MARGIN_MS;
  const commands = await deliveredVoidCommands(platform.database.read, { agentId, sinceMs, limit });
  const revoked = [
    ...approvals.map(({ token_id: id, issued_at: issuedMs }) => ({ id, issuedMs })),
    ...commands.map(({ id, sent_at: issuedMs }) => ({ id, issuedMs })),
  ].sort((a, b) => b.issuedMs - a.issuedMs);
  const newestUnlisted = revoked[REVOKED_TOKENS_MAX];
  const payload: AgentStatePayload = {
    v: 1,
    fleet_id: keyRing.fleetId,
    agent_id: agentId,
    server_time: rfc3339(nowMs),
    epoch: keyRing.epoch(),
    key_set_version: keyRing.keySet().version,
    revoked_tokens: revoked.slice(0, REVOKED_TOKENS_MAX).map(({ id }) => id),
    // In whole seconds, like the issue times of approvals.
    approvals_after: newestUnlisted === undefined ? null : rfc3339Seconds(newestUnlisted.issuedMs),
  };
  return keyRing.signer().sign(AGENT_STATE_TYPE, Buffer.from(JSON.stringify(payload)));
}
