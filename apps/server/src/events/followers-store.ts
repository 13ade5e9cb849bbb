import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { waitIsOver } from '../platform/db/wait-is-over.ts';

export type Follower = Tables['event_followers'];

export async function readFollower(db: Db, name: string): Promise<Follower | null> {
  const query = db.selectFrom('event_followers').selectAll().where('name', '=', name);
  return (await query.executeTakeFirst()) ?? null;
}

/** Those that have not read the event at a position. */
export async function followersBefore(db: Db, position: number): Promise<Follower[]> {
  return db
    .selectFrom('event_followers')
    .selectAll()
    .where('position', '<', position)
    .orderBy('name')
    .execute();
}

/** Another server may have added it already: that one stays. */
export async function addFollower(tx: Tx, row: Follower): Promise<void> {
  await tx
    .insertInto('event_followers')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

/**
 * Takes the follower to deal with the events after its position; moving it gives it back. False: another server has it,
 * or has moved it.
 */
export async function leaseFollower(
  tx: Tx,
  { name, position, nowMs, leaseMs }: { name: string; position: number; nowMs: number; leaseMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('event_followers')
    .set({ leased_until: nowMs + leaseMs })
    .where('name', '=', name)
    .where('position', '=', position)
    .where(waitIsOver('leased_until', { nowMs, longestMs: leaseMs }))
    .executeTakeFirst();
  return Number(result.numUpdatedRows) === 1;
}

/** Gives it back as it is. */
export async function endFollowerLease(tx: Tx, name: string): Promise<void> {
  await tx.updateTable('event_followers').set({ leased_until: 0 }).where('name', '=', name).execute();
}

/** Compare and swap: false if the follower is no longer at `from`. */
export async function moveFollower(
  tx: Tx,
  { name, from, to, nowMs }: { name: string; from: number; to: number; nowMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('event_followers')
    .set({ position: to, moved_at: nowMs, leased_until: 0 })
    .where('name', '=', name)
    .where('position', '=', from)
    .executeTakeFirst();
  return Number(result.numUpdatedRows) === 1;
}
