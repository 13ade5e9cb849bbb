import type { HostReboot } from '@tidegate/protocol/reboots-api';
import { isOnline } from '../agents/presence.ts';
import type { Db } from '../platform/db/engine.ts';
import { DEFAULT_LIMITS, judgeSlot, type SlotVerdict } from '../reboot-slots/slot-rules.ts';
import { countHealthyOthers, limitsOf } from '../reboot-slots/store.ts';
import { rebootView } from './reboot-view.ts';
import { allLimits, countAllSlots } from './slots-store.ts';
import type { HostedReboot } from './store.ts';
import { waitOf } from './wait-rules.ts';

/** Hosts of the queue as they are shown, with what each waits for. */
export async function viewReboots(
  db: Db,
  rows: readonly HostedReboot[],
  nowMs: number,
): Promise<HostReboot[]> {
  const isWaiting = rows.some(({ state }) => state === 'queued');
  const limits = new Map(
    (isWaiting ? await allLimits(db) : []).map((row) => [row.group_name, limitsOf(row)]),
  );
  const counts = isWaiting ? await countAllSlots(db) : new Map<string, never>();

  async function verdictOf({
    kind,
    state,
    agent_id: agentId,
    group_name: name,
  }: HostedReboot): Promise<SlotVerdict> {
    if (kind !== 'reboot' || state !== 'queued') return 'free';
    const group = name ?? '';
    const limit = limits.get(group) ?? DEFAULT_LIMITS;
    const count = counts.get(group) ?? { open: 0, failed: 0 };
    const first = judgeSlot(limit, { counts: count, healthyOthers: Infinity });
    // Counted only where nothing else is in the way: for as many hosts as have slots to take.
    if (first !== 'free' || limit.minHealthy === 0) return first;
    const healthyOthers = await countHealthyOthers(db, { group, agentId, nowMs });
    return judgeSlot(limit, { counts: count, healthyOthers });
  }

  const views: HostReboot[] = [];
  for (const row of rows) {
    const facts = {
      ...{ nowMs, state: row.state, notBeforeMs: row.not_before, isOffered: row.command_id !== null },
      ...{
        isOnline: isOnline(row, nowMs),
        slot: row.slot_state === 'ended' ? null : row.slot_state,
        verdict: await verdictOf(row),
      },
    };
    views.push(rebootView(row, waitOf(facts)));
  }
  return views;
}
