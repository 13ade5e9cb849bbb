import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { EVIDENCE_MAX } from './clone-rules.ts';
import { closeSuspicion, findSuspicion, forgetBoots } from './clone-store.ts';
import { type AgentRow, findAgent, lockBinding } from './store.ts';
import { acceptedAddresses, parseEvidence } from './suspect-clone.ts';

export type DismissOutcome = { ok: true; agent: AgentRow } | { ok: false; why: 'unknown' | 'not_suspected' };

/**
 * Records an operator's statement that it is one machine. Earlier boots are deleted, and the addresses of the evidence
 * may alternate from now on; any other sign raises suspicion again.
 */
export async function dismissClone(
  platform: Platform,
  { agentId, reason, actor }: { agentId: string; reason: string; actor: string },
): Promise<DismissOutcome> {
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const locked = await lockBinding(tx, { engine, agentId });
    const agent = locked && (await findAgent(tx, agentId));
    if (!agent) return { ok: false, why: 'unknown' } as const;
    const row = await findSuspicion(tx, agentId);
    if (row?.closed_at !== null) return { ok: false, why: 'not_suspected' } as const;
    const seen = parseEvidence(row.evidence).flatMap(({ address }) => (address === null ? [] : [address]));
    const accepted = [...new Set([...acceptedAddresses(row), ...seen])].slice(-EVIDENCE_MAX);
    await closeSuspicion(tx, { agentId, atMs: platform.now(), accepted });
    await forgetBoots(tx, { agentId, but: agent.boot_id });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'CLONE_DISMISSED',
      severity: 'warning',
      component: 'agents',
      agentId,
      actor,
      content: { reason, accepted_addresses: accepted },
    });
    const after = await findAgent(tx, agentId);
    if (!after) throw new Error('an agent disappeared while its row was locked');
    return { ok: true, agent: after } as const;
  });
}
