import { findAgent } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { judgeSlot, type SlotVerdict } from './slot-rules.ts';
import { countHealthyOthers, countSlots, insertSlot, lockGroup, slotOfHost } from './store.ts';

/** How long a host may take to come back after the last moment at which its command may begin, in milliseconds. */
export const RETURN_MAX_MS = 30 * 60_000;

/** `own_slot`: the host has one of another command, which has not ended. */
export type TakeOutcome = SlotVerdict | 'own_slot' | 'no_host';

/**
 * Takes a slot of the group of a host, for one command; `free` also where that command has one already. The caller holds
 * the host. Nothing is written unless the answer is `free`.
 */
export async function takeSlot(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  asked: { agentId: string; commandId: string; bootId: string; expiresAtMs: number },
): Promise<TakeOutcome> {
  const { agentId, commandId, bootId, expiresAtMs } = asked;
  const own = await slotOfHost(tx, agentId);
  if (own) return own.command_id === commandId && own.state !== 'failed' ? 'free' : 'own_slot';
  const agent = await findAgent(tx, agentId);
  if (!agent) return 'no_host';
  const [group, nowMs] = [agent.group_name ?? '', platform.now()];
  const limits = await lockGroup(tx, group);
  const counts = await countSlots(tx, group);
  const healthyOthers = limits.minHealthy === 0 ? 0 : await countHealthyOthers(tx, { group, agentId, nowMs });
  const verdict = judgeSlot(limits, { counts, healthyOthers });
  if (verdict !== 'free') return verdict;
  await insertSlot(tx, {
    ...{ id: platform.newId(), group_name: group, agent_id: agentId, command_id: commandId },
    ...{ boot_id: bootId, state: 'held', taken_at: nowMs, ends_at: expiresAtMs + RETURN_MAX_MS },
    ...{ back_at: null, outcome: null, detail: null, ended_at: null, ended_by: null },
  });
  return 'free';
}
