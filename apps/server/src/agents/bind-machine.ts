import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { findAgentOfMachine, lockMachine, setMachine } from './store.ts';

/**
 * Records the machine of an unbound agent, in the transaction of the check-in or renewal that bore it (section 3).
 * `conflict`: the agent was bound, revoked or deleted meanwhile, or the machine is another agent's; nothing changed.
 */
export async function bindMachine(
  tx: Tx,
  platform: Platform,
  { agentId, machineId, by }: { agentId: string; machineId: string; by: 'check-in' | 'renewal' },
): Promise<'bound' | 'conflict'> {
  await lockMachine(tx, { engine: platform.database.engine, machineId });
  if (await findAgentOfMachine(tx, machineId)) return 'conflict';
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
