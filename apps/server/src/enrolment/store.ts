import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import type { Tables } from '../platform/db/tables.ts';

export type RegistrationTokenRow = Tables['registration_tokens'];

export async function insertRegistrationToken(tx: Tx, row: RegistrationTokenRow): Promise<void> {
  await tx.insertInto('registration_tokens').values(row).execute();
}

/** Null where there is none, or no more, and where its group is out of the scope. */
export async function findRegistrationToken(
  db: Db,
  { id, scope }: { id: string; scope: GroupScope },
): Promise<RegistrationTokenRow | null> {
  const row = await present(db, scope).selectAll().where('id', '=', id).executeTakeFirst();
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
  { scope, limit, before }: { scope: GroupScope; limit: number; before: string | null },
): Promise<RegistrationTokenRow[]> {
  let query = present(db, scope).selectAll().orderBy('id', 'desc').limit(limit);
  if (before !== null) query = query.where('id', '<', before);
  return query.execute();
}

export async function countRegistrationTokens(db: Db, scope: GroupScope): Promise<number> {
  const row = await present(db, scope)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Not withdrawn, and of a group of the scope: a token that puts hosts into no group is for those who see them all. */
function present(db: Db, scope: GroupScope) {
  const query = db.selectFrom('registration_tokens').where('deleted_at', 'is', null);
  return scope === null ? query : query.where(groupInScope(scope, 'group_name'));
}
