import {
  REBOOT_DEADLINE_MAX_DAYS,
  REBOOT_HOSTS_SHOWN,
  REBOOT_LEFT_OUT,
  REBOOT_WARN_MINUTES,
  REBOOTS_ASKED_MAX,
  type RebootAsk,
  type RebootLeftOut,
  type RebootsAsked,
} from '@tidegate/protocol/reboots-api';
import { scopeFault } from '../agents/host-scope.ts';
import { reportOf } from '../agents/restarts-store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { needOf } from './ask-rules.ts';
import { hostsToReboot, insertReboots, type RebootRow } from './store.ts';

const DAY_MS = 86_400_000;

/** What is wrong with a request of the right form, and where; null if nothing is. */
export async function askFault(
  db: Db,
  { scope, deadline }: Pick<RebootAsk, 'scope' | 'deadline'>,
  nowMs: number,
): Promise<{ path: string; message: string } | null> {
  const deadlineMs = Date.parse(deadline);
  if (deadlineMs <= nowMs || deadlineMs > nowMs + REBOOT_DEADLINE_MAX_DAYS * DAY_MS) {
    return { path: '/deadline', message: `must be a time in the next ${REBOOT_DEADLINE_MAX_DAYS} days` };
  }
  return scopeFault(db, scope);
}

/** Queues the hosts of a scope that need it, with one event. Throws a Refusal for a scope of too many hosts. */
export async function askReboots(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { ask, by }: { ask: RebootAsk; by: string },
): Promise<RebootsAsked> {
  const { kind, scope, reason, dry_run = false, only_needed = true } = ask;
  const found = await hostsToReboot(tx, { scope, kind, limit: REBOOTS_ASKED_MAX + 1 });
  if (found.length > REBOOTS_ASKED_MAX) {
    const detail = `The scope has more than ${REBOOTS_ASKED_MAX} hosts. Ask for a part of them at a time.`;
    throw new Refusal('conflict', { detail });
  }
  const left = new Map<RebootLeftOut, number>();
  const rows: RebootRow[] = [];
  const hosts: RebootsAsked['hosts'] = [];
  for (const host of found) {
    const need = needOf({
      ...{
        kind,
        onlyNeeded: only_needed,
        bootId: host.boot_id,
        report: host.report === null ? null : reportOf({ report: host.report }),
      },
      isQueued: host.open_id !== null,
    });
    if (need.kind === 'left_out') {
      left.set(need.why, (left.get(need.why) ?? 0) + 1);
      continue;
    }
    rows.push(rowOf(platform, { ask, by, agentId: host.agent_id, ...need }));
    if (hosts.length < REBOOT_HOSTS_SHOWN) hosts.push({ agent_id: host.agent_id, hostname: host.hostname });
  }
  const left_out = REBOOT_LEFT_OUT.flatMap((why) => {
    const count = left.get(why);
    return count === undefined ? [] : { why, hosts: count };
  });
  if (dry_run) return { dry_run, queued: rows.length, hosts, left_out };
  const queued = await insertReboots(tx, rows);
  if (queued > 0) {
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'reboots_asked', severity: 'warning', component: 'reboots', actor: by },
      content: { actor: by, kind, scope, reason, hosts: queued, deadline: ask.deadline, only_needed },
    });
  }
  return { dry_run, queued, hosts, left_out };
}

function rowOf(
  { newId, now }: Pick<Platform, 'newId' | 'now'>,
  of: { ask: RebootAsk; by: string; agentId: string; bootId: string; units: string[] | null },
): RebootRow {
  const { ask, by, agentId, bootId, units } = of;
  const nowMs = now();
  return {
    ...{ id: newId(), agent_id: agentId, kind: ask.kind, boot_id: bootId, reason: ask.reason },
    ...{ units: units === null ? null : JSON.stringify(units), asked_by: by, asked_at: nowMs },
    ...{ warn_minutes: ask.warn_minutes ?? REBOOT_WARN_MINUTES, deadline_at: Date.parse(ask.deadline) },
    ...{ state: 'queued', not_before: nowMs, attempts: 0, command_id: null, offered_at: null },
    ...{ cancelled_by: null, blockers: null, outcomes: null, detail: null },
    ...{ new_boot_id: null, ended_at: null },
  };
}
