import type { AgentRow } from '../agents/store.ts';
import type { HostedCommand } from '../commands/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { DEFAULT_LIMITS, judgeSlot } from '../reboot-slots/slot-rules.ts';
import { countHealthyOthers, countSlots, limitsOf, slotOfHost } from '../reboot-slots/store.ts';
import { limitsOfGroup, slotHolders } from '../reboots/slots-store.ts';
import { listReboots } from '../reboots/store.ts';
import { viewReboots } from '../reboots/view-reboots.ts';
import type { RebootFacts } from './wait-rules.ts';

/** Holders of slots that a sentence names. */
const NAMED_MAX = 3;

/** What the reboot of a host waits for: one that a command orders, or one of the queue. */
export async function rebootOf(
  db: Db,
  { command, agent, nowMs }: { command: HostedCommand | null; agent: AgentRow; nowMs: number },
): Promise<RebootFacts | null> {
  if (command === null) return null;
  const isOrdered = command.action === 'reboot' && command.status === 'pending';
  if (!isOrdered && command.status !== 'success') return null;
  const group = agent.group_name ?? '';
  const limits = await limitsOfGroup(db, group);
  const limit = limits ? limitsOf(limits) : DEFAULT_LIMITS;
  const counts = await countSlots(db, group);
  const found = isOrdered ? await ordered() : await queued();
  if (found === null) return null;
  const by = await slotHolders(db, { group, limit: NAMED_MAX });
  return { ...found, slots: { atMost: limit.maxAtOnce, taken: counts.open, by } };

  async function ordered(): Promise<Omit<RebootFacts, 'slots'> | null> {
    if ((await slotOfHost(db, agent.id))?.command_id === command?.id) return null;
    const healthyOthers =
      limit.minHealthy === 0 ? Infinity : await countHealthyOthers(db, { group, agentId: agent.id, nowMs });
    const verdict = judgeSlot(limit, { counts, healthyOthers });
    if (verdict === 'free') return null;
    return { waitsFor: VERDICTS[verdict], notBeforeMs: nowMs };
  }

  async function queued(): Promise<Omit<RebootFacts, 'slots'> | null> {
    const filter = { agentId: agent.id, kind: 'reboot', state: 'queued' } as const;
    const rows = await listReboots(db, { filter, limit: 1, after: null });
    const [row] = rows;
    const waitsFor = (await viewReboots(db, rows, nowMs))[0]?.waits_for ?? null;
    return row === undefined || waitsFor === null ? null : { waitsFor, notBeforeMs: row.not_before };
  }
}

const VERDICTS = { none_free: 'slot', halted: 'release', too_few_healthy: 'healthy' } as const;
