import { LOOK_MAX_AGE_MS } from '@tidegate/protocol/probes';
import { type Selectable, sql } from 'kysely';
import { PATIENCE_MS } from '../agents/patience-store.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { DEFAULT_LIMITS, type Limits, type SlotCounts } from './slot-rules.ts';

export type SlotRow = Selectable<Tables['reboot_slots']>;
/** What a slot came to. */
export type SlotOutcome = NonNullable<SlotRow['outcome']>;

/** Locks a group until the transaction ends, so that slots are counted and taken by one at a time. */
export async function lockGroup(tx: Tx, group: string): Promise<Limits> {
  const { maxAtOnce, minHealthy, haltAfter } = DEFAULT_LIMITS;
  const row = {
    ...{ group_name: group, max_at_once: maxAtOnce, min_healthy: minHealthy, halt_after: haltAfter },
    ...{ changed_by: null, changed_at: null },
  };
  // A write that changes nothing locks the row on both engines, also one that another transaction is inserting.
  const locked = await tx
    .insertInto('reboot_groups')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('group_name').doUpdateSet({ halt_after: sql<number>`reboot_groups.halt_after` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
  return limitsOf(locked);
}

export function limitsOf(row: Pick<Tables['reboot_groups'], 'max_at_once' | 'min_healthy' | 'halt_after'>) {
  return { maxAtOnce: row.max_at_once, minHealthy: row.min_healthy, haltAfter: row.halt_after };
}

export async function writeLimits(
  tx: Tx,
  { group, limits, by, nowMs }: { group: string; limits: Limits; by: string; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('reboot_groups')
    .set({ max_at_once: limits.maxAtOnce, min_healthy: limits.minHealthy, halt_after: limits.haltAfter })
    .set({ changed_by: by, changed_at: nowMs })
    .where('group_name', '=', group)
    .execute();
}

/** The slots of a group that have not ended; exact only for who holds the group. */
export async function countSlots(db: Db, group: string): Promise<SlotCounts> {
  const rows = await db
    .selectFrom('reboot_slots')
    .select(['state', (e) => e.fn.countAll<number>().as('total')])
    .where('group_name', '=', group)
    .where('ended_at', 'is', null)
    .groupBy('state')
    .execute();
  const of = (states: readonly string[]) =>
    rows.reduce((sum, { state, total }) => sum + (states.includes(state) ? Number(total) : 0), 0);
  return { open: of(['held', 'proving', 'failed']), failed: of(['failed']) };
}

/**
 * Hosts of a group that are up and well, without this one (null: a FleetLock client asks) and without those that have a
 * slot: seen within three of their intervals, and in a look that still counts every probe was green or root had named none. One statement that joins the
 * tables of hosts, slots and probes.
 */
export async function countHealthyOthers(
  db: Db,
  { group, agentId, nowMs }: { group: string; agentId: string | null; nowMs: number },
): Promise<number> {
  const hosts = db
    .selectFrom('agents as a')
    .innerJoin('agent_presence as p', 'p.agent_id', 'a.id')
    .innerJoin('agent_probes as s', 's.agent_id', 'a.id')
    .leftJoin('reboot_slots as r', (join) =>
      join.onRef('r.agent_id', '=', 'a.id').on('r.ended_at', 'is', null),
    )
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where(group === '' ? sql<boolean>`a.group_name IS NULL` : sql<boolean>`a.group_name = ${group}`)
    .where('r.id', 'is', null)
    .where('s.state', 'in', ['green', 'none'])
    .where('s.looked_at', '>=', nowMs - LOOK_MAX_AGE_MS)
    .where(isOnline(nowMs));
  const others = agentId === null ? hosts : hosts.where('a.id', '<>', agentId);
  const row = await others.executeTakeFirstOrThrow();
  return Number(row.total);
}

/** A condition on `a` (agents) and `p` (agent_presence). */
export function isOnline(nowMs: number) {
  return sql<boolean>`p.last_seen_at > ${sql.lit(nowMs)} - ${PATIENCE_MS}`;
}

export async function insertSlot(tx: Tx, row: SlotRow): Promise<void> {
  await tx.insertInto('reboot_slots').values(row).execute();
}

/** The slot that a host has. */
export async function slotOfHost(db: Db, agentId: string): Promise<SlotRow | null> {
  const row = await db
    .selectFrom('reboot_slots')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return row ?? null;
}

/** The slot that a FleetLock client of a group has. */
export async function slotOfClient(
  db: Db,
  { group, clientId }: { group: string; clientId: string },
): Promise<SlotRow | null> {
  const row = await db
    .selectFrom('reboot_slots')
    .selectAll()
    .where('group_name', '=', group)
    .where('client_id', '=', clientId)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Removes the slot of a client that has not failed; false where it has none. Nothing is kept of it, so that no number of
 * names fills the table: the event tells that it was there.
 */
export async function removeHeldClient(
  tx: Tx,
  { group, clientId }: { group: string; clientId: string },
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('reboot_slots')
    .where('group_name', '=', group)
    .where('client_id', '=', clientId)
    .where('state', '=', 'held')
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Compare-and-swap: the slot as it was, or null where it was in none of these states any more. */
export async function endSlot(
  tx: Tx,
  end: {
    of: { id: string } | { commandId: string };
    from: readonly SlotRow['state'][];
    outcome: SlotOutcome;
    by: string;
    nowMs: number;
  },
): Promise<SlotRow | null> {
  const { of, from, outcome, by, nowMs } = end;
  const update = tx
    .updateTable('reboot_slots')
    .set({ state: 'ended', outcome, ended_by: by, ended_at: nowMs })
    .where('state', 'in', from);
  const row = await ('id' in of
    ? update.where('id', '=', of.id)
    : update.where('command_id', '=', of.commandId)
  )
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}
