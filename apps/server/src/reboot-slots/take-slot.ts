import { findAgent } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { judgeSlot, type SlotVerdict } from './slot-rules.ts';
import {
  countHealthyOthers,
  countSlots,
  insertSlot,
  lockGroup,
  type SlotRow,
  slotOfClient,
  slotOfHost,
} from './store.ts';

/** How long a host may take to come back after the last moment at which its command may begin, in milliseconds. */
export const RETURN_MAX_MS = 30 * 60_000;
/** How long a FleetLock client may take from its grant until it is back and says so, in milliseconds. */
export const CLIENT_HOLD_MAX_MS = 60 * 60_000;

/** `own_slot`: the host has one of another command, which has not ended. */
export type TakeOutcome = SlotVerdict | 'own_slot' | 'no_host';
/** `held`: the client has one already; `failed`: it has one past its end, which a person has to release. */
export type ClientTakeOutcome = SlotVerdict | 'held' | 'failed';

type Means = Pick<Platform, 'newId' | 'now'>;
type Holder = Pick<SlotRow, 'agent_id' | 'command_id' | 'boot_id' | 'client_id'>;

/**
 * Takes a slot of the group of a host, for one command; `free` also where that command has one already. The caller holds
 * the host. Nothing is written unless the answer is `free`.
 */
export async function takeSlot(
  tx: Tx,
  platform: Means,
  asked: { agentId: string; commandId: string; bootId: string; expiresAtMs: number },
): Promise<TakeOutcome> {
  const { agentId, commandId, bootId, expiresAtMs } = asked;
  const own = await slotOfHost(tx, agentId);
  if (own) return own.command_id === commandId && own.state !== 'failed' ? 'free' : 'own_slot';
  const agent = await findAgent(tx, agentId);
  if (!agent) return 'no_host';
  const group = agent.group_name ?? '';
  const limits = await lockGroup(tx, group);
  const holder = { agent_id: agentId, command_id: commandId, boot_id: bootId, client_id: null };
  return takeFree(tx, platform, { group, limits, holder, endsAtMs: expiresAtMs + RETURN_MAX_MS });
}

/**
 * Takes a slot of a group for a FleetLock client. One that holds a slot keeps it as it is: asking again moves no end. The
 * group is locked first, so that two servers never give one client two slots.
 */
export async function takeClientSlot(
  tx: Tx,
  platform: Means,
  { group, clientId }: { group: string; clientId: string },
): Promise<ClientTakeOutcome> {
  const limits = await lockGroup(tx, group);
  const own = await slotOfClient(tx, { group, clientId });
  if (own) return own.state === 'failed' ? 'failed' : 'held';
  const holder = { agent_id: null, command_id: null, boot_id: null, client_id: clientId };
  return takeFree(tx, platform, { group, limits, holder, endsAtMs: platform.now() + CLIENT_HOLD_MAX_MS });
}

/** The one place where slots are counted and taken. The caller has locked the group. */
async function takeFree(
  tx: Tx,
  platform: Means,
  asked: {
    group: string;
    limits: Awaited<ReturnType<typeof lockGroup>>;
    holder: Holder;
    endsAtMs: number;
  },
): Promise<SlotVerdict> {
  const { group, limits, holder, endsAtMs } = asked;
  const [nowMs, agentId] = [platform.now(), holder.agent_id];
  const counts = await countSlots(tx, group);
  const healthyOthers = limits.minHealthy === 0 ? 0 : await countHealthyOthers(tx, { group, agentId, nowMs });
  const verdict = judgeSlot(limits, { counts, healthyOthers });
  if (verdict !== 'free') return verdict;
  await insertSlot(tx, {
    ...{ ...holder, id: platform.newId(), group_name: group },
    ...{ state: 'held', taken_at: nowMs, ends_at: endsAtMs },
    ...{ back_at: null, outcome: null, detail: null, ended_at: null, ended_by: null },
  });
  return verdict;
}
