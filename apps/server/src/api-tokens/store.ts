import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { noteRevocation } from '../platform/forward-facts.ts';

export type ApiTokenRow = Tables['api_tokens'];

/** A token with who made it, as that operator is now; the columns are null where there is none any more. */
export type MadeToken = ApiTokenRow & {
  maker_name: string | null;
  maker_role: Tables['operators']['role'] | null;
  maker_groups: string | null;
  maker_disabled_at: number | null;
};

/** False where the operator has a token of this label that is not revoked. */
export async function insertApiToken(tx: Tx, row: ApiTokenRow): Promise<boolean> {
  const inserted = await tx
    .insertInto('api_tokens')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['operator_id', 'label']).where('revoked_at', 'is', null).doNothing(),
    )
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function findTokenByHash(db: Db, secretHash: string): Promise<MadeToken | null> {
  return (await made(db).where('t.secret_hash', '=', secretHash).executeTakeFirst()) ?? null;
}

/** One that is not revoked. */
export async function findApiToken(db: Db, id: string): Promise<MadeToken | null> {
  const query = made(db).where('t.id', '=', id).where('t.revoked_at', 'is', null);
  return (await query.executeTakeFirst()) ?? null;
}

/** Those that are not revoked, newest first; `before` is the id of the last row of the page before. */
export async function listApiTokens(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<MadeToken[]> {
  let query = made(db).where('t.revoked_at', 'is', null).orderBy('t.id', 'desc').limit(limit);
  if (before !== null) query = query.where('t.id', '<', before);
  return query.execute();
}

export async function countApiTokens(db: Db): Promise<number> {
  const row = await db
    .selectFrom('api_tokens')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Compare-and-swap: nothing where it was used a moment ago, by another request say. */
export async function touchApiToken(
  tx: Tx,
  { id, nowMs, unlessAfterMs }: { id: string; nowMs: number; unlessAfterMs: number },
): Promise<void> {
  await tx
    .updateTable('api_tokens')
    .set({ last_used_at: nowMs })
    .where('id', '=', id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<=', unlessAfterMs)]))
    .execute();
}

/** Compare-and-swap; false where there is none that is not revoked. */
export async function markApiTokenRevoked(
  tx: Tx,
  { id, atMs }: { id: string; atMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('api_tokens')
    .set({ revoked_at: atMs })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  noteRevocation(tx, { kind: 'api_token', id, atMs });
  return true;
}

/** Revokes what an operator made that is not revoked yet; returns how many. */
export async function revokeTokensOf(
  tx: Tx,
  { operatorId, atMs }: { operatorId: string; atMs: number },
): Promise<number> {
  const rows = await tx
    .updateTable('api_tokens')
    .set({ revoked_at: atMs })
    .where('operator_id', '=', operatorId)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute();
  for (const { id } of rows) noteRevocation(tx, { kind: 'api_token', id, atMs });
  return rows.length;
}

function made(db: Db) {
  return db
    .selectFrom('api_tokens as t')
    .leftJoin('operators as o', 'o.id', 't.operator_id')
    .selectAll('t')
    .select([
      'o.username as maker_name',
      'o.role as maker_role',
      'o.groups as maker_groups',
      'o.disabled_at as maker_disabled_at',
    ]);
}
