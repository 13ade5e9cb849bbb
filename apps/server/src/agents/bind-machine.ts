import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { findAgentOfMachine, lockMachine, setMachine } from './store.ts';

/**
 * Records the machine of an unbound agent, in the transaction of the check-in or renewal that named it (section 3).
 * Changes nothing on `foreign_machine` (the machine belongs to another agent) or `conflict` (the agent was meanwhile
 * bound, revoked or deleted).
 */
export async function bindMachine(
  tx: Tx,
  platform: Platform,
  { agentId, machineId, by }: { agentId: string; machineId: string; by: 'check-in' | 'renewal' },
): Promise<'bound' | 'foreign_machine' | 'conflict'> {
  await lockMachine(tx, { engine: platform.database.engine, machineId });
  const owner = await findAgentOfMachine(tx, machineId);
  if (owner) return owner.id === agentId ? 'conflict' : 'foreign_machine';
  if (!(await setMachine(tx, { agentId, machineId, atMs: platform.now() }))) return 'conflict';
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'MACHINE_BOUND',
    severity: 'info',
    component: 'agents',
    agentId,
    actor: 'agent',
    content: { machine_id: machineId, by },
  });
  return 'bound';
}
