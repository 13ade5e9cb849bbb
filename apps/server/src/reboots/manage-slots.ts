import {
  SLOT_GROUPS_SHOWN,
  SLOTS_SHOWN,
  type SlotGroup,
  type SlotLimits,
} from '@tidegate/protocol/reboots-api';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { DEFAULT_LIMITS, isHalted } from '../reboot-slots/slot-rules.ts';
import { endSlot, limitsOf, lockGroup, writeLimits } from '../reboot-slots/store.ts';
import { allLimits, countAllSlots, openSlots } from './slots-store.ts';
import { groupsWaiting } from './store.ts';

type Means = Pick<Platform, 'newId' | 'now'>;

/** The groups that have limits, slots or hosts that wait, by name. */
export async function slotGroups(db: Db, nowMs: number): Promise<SlotGroup[]> {
  const limits = new Map((await allLimits(db)).map((row) => [row.group_name, limitsOf(row)]));
  const waiting = new Map((await groupsWaiting(db, nowMs)).map((row) => [row.group, row.waiting]));
  const counts = await countAllSlots(db);
  const slots = await openSlots(db, { limit: SLOTS_SHOWN });
  const names = new Set([...limits.keys(), ...waiting.keys(), ...counts.keys()]);
  return [...names]
    .toSorted()
    .slice(0, SLOT_GROUPS_SHOWN)
    .map((name) => {
      const limit = limits.get(name) ?? DEFAULT_LIMITS;
      const own = slots.filter((slot) => slot.group_name === name);
      const count = counts.get(name) ?? { open: 0, failed: 0 };
      return {
        group: name === '' ? null : name,
        ...{ max_at_once: limit.maxAtOnce, min_healthy: limit.minHealthy, halt_after: limit.haltAfter },
        is_halted: isHalted(limit, count),
        taken: count.open,
        waiting: waiting.get(name) ?? 0,
        slots: own.flatMap(({ id, agent_id, hostname, command_id, state, taken_at, ends_at, detail }) => {
          if (state === 'ended') return [];
          const times = { taken_at: rfc3339(taken_at), ends_at: rfc3339(ends_at) };
          return { id, agent_id, hostname, command_id, state, ...times, detail };
        }),
      };
    });
}

/** Sets the limits of a group, with an event. Slots that are taken already stay. */
export async function setLimits(
  tx: Tx,
  platform: Means,
  { asked, by }: { asked: SlotLimits; by: string },
): Promise<void> {
  const { group, max_at_once: maxAtOnce, min_healthy: minHealthy, halt_after: haltAfter } = asked;
  const name = group ?? '';
  const before = await lockGroup(tx, name);
  await writeLimits(tx, {
    group: name,
    limits: { maxAtOnce, minHealthy, haltAfter },
    by,
    nowMs: platform.now(),
  });
  await appendEvent(tx, platform, {
    ...{
      kind: 'system',
      type: 'reboot_limits_changed',
      severity: 'warning',
      component: 'reboots',
      actor: by,
    },
    content: {
      ...{ actor: by, group, max_at_once: maxAtOnce, min_healthy: minHealthy, halt_after: haltAfter },
      before: { max_at_once: before.maxAtOnce, min_healthy: before.minHealthy, halt_after: before.haltAfter },
    },
  });
}

/** Frees the slot of a host that failed; false where there is none. A slot of a host under way ends by itself. */
export async function releaseSlot(
  tx: Tx,
  platform: Means,
  { id, reason, by }: { id: string; reason: string; by: string },
): Promise<boolean> {
  const end = { outcome: 'released', by, nowMs: platform.now() } as const;
  const slot = await endSlot(tx, { of: { id }, from: ['failed'], ...end });
  if (!slot) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'reboot_slot_released', severity: 'warning', component: 'reboots' },
    ...{ agentId: slot.agent_id, actor: by },
    content: {
      actor: by,
      reason,
      group: slot.group_name === '' ? null : slot.group_name,
      detail: slot.detail,
      ...(slot.client_id !== null && { client: slot.client_id }),
    },
  });
  return true;
}
