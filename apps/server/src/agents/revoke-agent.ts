import { revokeFamilyOf } from '../agent-credentials/families.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { closeSuspicion } from './clone-store.ts';
import { type AgentRow, findAgent, lockBinding, markAgentDeleted, markAgentRevoked } from './store.ts';
import { forgetTags } from './tag-store.ts';

/**
 * Revokes agent and family, which is final: every token is refused at its next request. Deleting revokes too, and frees
 * the machine for a new agent id. Returns the resulting row; null when there is no such agent.
 */
export async function revokeAgent(
  platform: Platform,
  args: { agentId: string; act: 'revoke' | 'delete'; reason: string | null; actor: string },
): Promise<AgentRow | null> {
  const { agentId, act, reason, actor } = args;
  const nowMs = platform.now();
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    // Locks the family first, as renewal does.
    const familyId = await revokeFamilyOf(tx, platform, {
      agentId,
      reason: act === 'delete' ? 'agent_deleted' : 'operator',
      nowMs,
    });
    const agent = await lockBinding(tx, { engine, agentId });
    if (!agent || agent.status === 'deleted') return null;
    await markAgentRevoked(tx, { agentId, atMs: nowMs });
    await closeSuspicion(tx, { agentId, atMs: nowMs });
    const after = await findAgent(tx, agentId);
    if (act === 'delete') {
      await markAgentDeleted(tx, { agentId, atMs: nowMs });
      await forgetTags(tx, agentId);
    }
    if (act === 'delete' || agent.status === 'active') {
      await appendEvent(tx, platform, {
        kind: 'security',
        type: 'AGENT_REVOKED',
        severity: 'warning',
        component: 'agents',
        agentId,
        actor,
        content: { act, reason, family_id: familyId },
      });
    }
    return after;
  });
}
