import type { ProbesState } from '@tidegate/protocol/probes';
import { CommandStatus } from '@tidegate/protocol/states';
import { sql } from 'kysely';
import { Value } from 'typebox/value';
import { patienceOf } from '../agents/presence.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { SlotRow } from '../reboot-slots/store.ts';
import type { SlotFacts } from './settle-rules.ts';

/** A slot with what is known of its host. */
export interface SlotSeen {
  readonly slot: SlotRow;
  /** How long the host may say nothing, in milliseconds. */
  readonly patienceMs: number;
  readonly facts: Omit<SlotFacts, 'nowMs' | 'couldReport'>;
}

/** Slots whose host is not settled, by id: at most as many as all groups allow. One statement joins all that is known. */
export async function slotsToSettle(
  db: Db,
  { limit, after }: { limit: number; after: string },
): Promise<SlotSeen[]> {
  const rows = await db
    .selectFrom('reboot_slots as s')
    .innerJoin('agents as a', 'a.id', 's.agent_id')
    .leftJoin('agent_commands as c', 'c.id', 's.command_id')
    .leftJoin('agent_presence as p', 'p.agent_id', 's.agent_id')
    .leftJoin('agent_probes as q', 'q.agent_id', 's.agent_id')
    .selectAll('s')
    .select(['c.status', 'c.reason', 'c.sent_at', 'c.expires_at', 'a.boot_id as host_boot'])
    .select([
      'a.uptime_seconds',
      'a.polling_interval_seconds',
      'p.last_seen_at',
      'q.state as probes_state',
      'q.looked_at',
    ])
    .where('s.state', 'in', ['held', 'proving'])
    .where('s.id', '>', after)
    .orderBy('s.id')
    .limit(limit)
    .execute();
  return rows.flatMap((row) => {
    if (row.boot_id === null) return [];
    const { status, reason, sent_at, expires_at, host_boot, uptime_seconds, last_seen_at } = row;
    const { boot_id: bootId, probes_state, looked_at, polling_interval_seconds, ...rest } = row;
    const slot = { ...rest, boot_id: bootId };
    const unknown: ProbesState = 'unknown';
    return {
      slot,
      patienceMs: patienceOf({ polling_interval_seconds }),
      facts: {
        slot: {
          ...{ bootId, takenAtMs: row.taken_at },
          ...{ endsAtMs: row.ends_at, backAtMs: row.back_at },
        },
        command:
          status === null || expires_at === null
            ? null
            : {
                ...{ status: Value.Parse(CommandStatus, status), reason, isSent: sent_at !== null },
                endsAtMs: expires_at,
              },
        host: { bootId: host_boot, uptimeSeconds: uptime_seconds, lastSeenMs: last_seen_at },
        probes: { state: probes_state ?? unknown, atMs: looked_at },
      },
    };
  });
}

/** Slots of FleetLock clients that did not say by the end that they are back, by id. */
export async function overdueClients(
  db: Db,
  { nowMs, limit, after }: { nowMs: number; limit: number; after: string },
): Promise<SlotRow[]> {
  return db
    .selectFrom('reboot_slots')
    .selectAll()
    .where('client_id', 'is not', null)
    .where('state', '=', 'held')
    .where('ends_at', '<=', nowMs)
    .where('ended_at', 'is', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Slots of hosts and clients that are not settled and that were taken, or whose host came back, after a time. */
export async function slotsAhead(
  db: Db,
  { aheadMs, limit }: { aheadMs: number; limit: number },
): Promise<SlotRow[]> {
  return db
    .selectFrom('reboot_slots')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('state', 'in', ['held', 'proving'])
    .where((e) => e(e.fn.coalesce('back_at', 'taken_at'), '>', aheadMs))
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Compare-and-swap: true if the slot was in this state and has changed. */
export async function changeSlot(
  tx: Tx,
  args: {
    id: string;
    from: SlotRow['state'];
    change: Partial<Pick<SlotRow, 'state' | 'taken_at' | 'back_at' | 'ends_at' | 'detail'>>;
  },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('reboot_slots')
    .set(args.change)
    .where('id', '=', args.id)
    .where('state', '=', args.from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The newest slot that a command has taken. */
export async function slotOfCommand(db: Db, commandId: string): Promise<SlotRow | null> {
  const row = await db
    .selectFrom('reboot_slots')
    .selectAll()
    .where('command_id', '=', commandId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** The slots that have not ended, with the names of their hosts or clients: those that failed first, at most `limit`. */
export async function openSlots(
  db: Db,
  { limit }: { limit: number },
): Promise<(SlotRow & { hostname: string })[]> {
  return db
    .selectFrom('reboot_slots as s')
    .leftJoin('agents as a', 'a.id', 's.agent_id')
    .selectAll('s')
    .select(sql<string>`coalesce(a.hostname, s.client_id)`.as('hostname'))
    .where('s.ended_at', 'is', null)
    .orderBy(sql`CASE WHEN s.state = 'failed' THEN 0 ELSE 1 END`)
    .orderBy('s.taken_at')
    .orderBy('s.id')
    .limit(limit)
    .execute();
}

/** Who has the open slots of a group, as far as hosts are still in it: those that failed first, at most `limit`. */
export async function slotHolders(
  db: Db,
  { group, limit }: { group: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('reboot_slots as s')
    .leftJoin('agents as a', 'a.id', 's.agent_id')
    .select(sql<string>`coalesce(a.hostname, s.client_id)`.as('name'))
    .where('s.group_name', '=', group)
    .where('s.ended_at', 'is', null)
    .where((e) => e.or([e('s.agent_id', 'is', null), e(sql`coalesce(a.group_name, '')`, '=', group)]))
    .orderBy(sql`CASE WHEN s.state = 'failed' THEN 0 ELSE 1 END`)
    .orderBy('s.taken_at')
    .orderBy('s.id')
    .limit(limit)
    .execute();
  return rows.map(({ name }) => name);
}

export async function limitsOfGroup(db: Db, group: string): Promise<Tables['reboot_groups'] | null> {
  const row = db.selectFrom('reboot_groups').selectAll().where('group_name', '=', group);
  return (await row.executeTakeFirst()) ?? null;
}

/** Open slots of every group that has some. */
export async function countAllSlots(db: Db): Promise<Map<string, { open: number; failed: number }>> {
  const rows = await db
    .selectFrom('reboot_slots')
    .select('group_name')
    .select((e) => e.fn.countAll<number>().as('open'))
    .select(sql<number>`sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END)`.as('failed'))
    .where('ended_at', 'is', null)
    .groupBy('group_name')
    .execute();
  return new Map(rows.map((row) => [row.group_name, { open: Number(row.open), failed: Number(row.failed) }]));
}

export async function allLimits(db: Db): Promise<Tables['reboot_groups'][]> {
  return db.selectFrom('reboot_groups').selectAll().orderBy('group_name').execute();
}
