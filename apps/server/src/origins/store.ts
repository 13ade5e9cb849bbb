import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type OriginRow = Opened<'origins'>;
/** A row of any state; an ended one has no seal. */
export type AnyOriginRow = Unsealed<'origins'>;

export async function insertOrigin(tx: Tx, row: AnyOriginRow): Promise<void> {
  await tx
    .insertInto('origins')
    .values(sealed(tx, 'origins', row))
    .execute();
}

/** Ends a registration, also one with a broken seal; null when there is none, or it has ended. */
export async function endOrigin(
  tx: Tx,
  { id, by, reason, nowMs }: { id: string; by: string; reason: 'revoked' | 'expired'; nowMs: number },
): Promise<AnyOriginRow | null> {
  const row = await tx
    .updateTable('origins')
    .set({ ended_at: nowMs, end_reason: reason, ended_by: by, seal: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Registrations past their end whose end is not recorded yet, by id. */
export async function expiredOrigins(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('origins')
    .select('id')
    .where('ended_at', 'is', null)
    .where('ends_at', '<=', nowMs)
    .orderBy('ends_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Null also where the seal of one in force is broken. */
export async function findOrigin(db: Db, id: string): Promise<AnyOriginRow | null> {
  const row = await db.selectFrom('origins').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return null;
  return row.ended_at === null ? opened(db, 'origins', row) : row;
}

/** Newest first, also ended ones; `before` is the last id of the previous page. */
export async function listOrigins(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<AnyOriginRow[]> {
  let query = db.selectFrom('origins').selectAll();
  if (before !== null) query = query.where('id', '<', before);
  const rows = await query.orderBy('id', 'desc').limit(limit).execute();
  return rows.flatMap((row) => (row.ended_at === null ? (opened(db, 'origins', row) ?? []) : row));
}

export async function countOrigins(db: Db): Promise<number> {
  const row = await db
    .selectFrom('origins')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** All that are in force, oldest first. */
export async function originsInForce(db: Db, nowMs: number): Promise<OriginRow[]> {
  const rows = await db
    .selectFrom('origins')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('ends_at', '>', nowMs)
    .orderBy('id')
    .execute();
  return rows.flatMap((row) => opened(db, 'origins', row) ?? []);
}
