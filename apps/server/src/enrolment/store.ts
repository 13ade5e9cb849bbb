import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type RegistrationTokenRow = Tables['registration_tokens'];

export async function insertRegistrationToken(tx: Tx, row: RegistrationTokenRow): Promise<void> {
  await tx.insertInto('registration_tokens').values(row).execute();
}

export async function findRegistrationToken(db: Db, id: string): Promise<RegistrationTokenRow | null> {
  const row = await db
    .selectFrom('registration_tokens')
    .selectAll()
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row ?? null;
}

/** The token of a secret while it is neither deleted nor expired; it may have no free seat. */
export async function findUsableToken(
  db: Db,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<RegistrationTokenRow | null> {
  const row = await db
    .selectFrom('registration_tokens')
    .selectAll()
    .where('secret_hash', '=', secretHash)
    .where('deleted_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return row ?? null;
}

/** Compare-and-swap: takes a seat while there is one; false when the last one is gone, or the token. */
export async function takeSeat(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<boolean> {
  const result = await tx
    .updateTable('registration_tokens')
    .set({ seats_used: sql<number>`seats_used + 1` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .where((e) => e('seats_used', '<', e.ref('seats')))
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** False when there is no such token, or no more. */
export async function markTokenDeleted(tx: Tx, { id, atMs }: { id: string; atMs: number }): Promise<boolean> {
  const result = await tx
    .updateTable('registration_tokens')
    .set({ deleted_at: atMs })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Newest first: ids rise with time. `before` is the id of the last row of the page before. */
export async function listRegistrationTokens(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<RegistrationTokenRow[]> {
  let query = db
    .selectFrom('registration_tokens')
    .selectAll()
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(limit);
  if (before !== null) query = query.where('id', '<', before);
  return query.execute();
}

export async function countRegistrationTokens(db: Db): Promise<number> {
  const row = await db
    .selectFrom('registration_tokens')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}
