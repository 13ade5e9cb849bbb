import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type DayRow = Tables['fleet_days'];

/** Writes a day, or overwrites it. */
export async function writeDay(tx: Tx, row: DayRow): Promise<void> {
  const { day: _, ...set } = row;
  await tx
    .insertInto('fleet_days')
    .values(row)
    .onConflict((conflict) => conflict.column('day').doUpdateSet(set))
    .execute();
}

export async function dropDaysBefore(tx: Tx, day: string): Promise<void> {
  await tx.deleteFrom('fleet_days').where('day', '<', day).execute();
}

/** Oldest first. */
export async function daysSince(db: Db, day: string): Promise<DayRow[]> {
  return db.selectFrom('fleet_days').selectAll().where('day', '>=', day).orderBy('day').execute();
}

export async function writeServedSlot(
  tx: Tx,
  { slot, keptFrom }: { slot: number; keptFrom: number },
): Promise<void> {
  await tx
    .insertInto('served_slots')
    .values({ slot })
    .onConflict((conflict) => conflict.column('slot').doNothing())
    .execute();
  await tx.deleteFrom('served_slots').where('slot', '<', keptFrom).execute();
}

export async function servedSlots(db: Db): Promise<Set<number>> {
  const rows = await db.selectFrom('served_slots').select('slot').execute();
  return new Set(rows.map(({ slot }) => slot));
}

/** The data of a host's heartbeats; null if the host does not exist. */
export async function findBeats(db: Db, agentId: string) {
  const row = await db
    .selectFrom('agents as a')
    .leftJoin('agent_presence as p', 'p.agent_id', 'a.id')
    .select(['a.enrolled_at', 'a.polling_interval_seconds'])
    .select(['p.last_seen_at', 'p.beat_slot', 'p.beats', 'p.late_beats'])
    .where('a.id', '=', agentId)
    .where('a.deleted_at', 'is', null)
    .executeTakeFirst();
  return row ?? null;
}
