import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { closeSuspicion } from './clone-store.ts';
import { clearMachine, lockBinding } from './store.ts';

export type RebindOutcome = { ok: true; atMs: number } | { ok: false; why: 'unknown' | 'revoked' };

/** E2: clears the binding, so that the next check-in or renewal records a new machine; always leaves an audit row. */
export async function rebindMachine(
  platform: Platform,
  { agentId, reason, actor }: { agentId: string; reason: string; actor: string },
): Promise<RebindOutcome> {
  const atMs = platform.now();
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const agent = await lockBinding(tx, { engine, agentId });
    if (!agent || agent.status === 'deleted') return { ok: false, why: 'unknown' } as const;
    // A revoked agent finds its id at enrolment by its machine, so the machine stays.
    if (agent.status === 'revoked') return { ok: false, why: 'revoked' } as const;
    await clearMachine(tx, agentId);
    await closeSuspicion(tx, { agentId, atMs });
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'MACHINE_REBOUND',
      severity: 'warning',
      component: 'agents',
      agentId,
      actor,
      content: { reason, previous_machine_id: agent.machineId },
    });
    return { ok: true, atMs } as const;
  });
}
