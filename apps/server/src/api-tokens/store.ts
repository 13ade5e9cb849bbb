import { COVERED_OPERATOR, type OperatorRow, operatorOf } from '../operators/store.ts';
import type { Covered } from '../platform/db/create-row-seals.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type ApiTokenRow = Opened<'api_tokens'>;

/** A token with its creator as of now; the creator's columns are null when it is deleted. */
export type MadeToken = ApiTokenRow & {
  maker_name: string | null;
  maker_role: OperatorRow['role'] | null;
  maker_groups: string | null;
  maker_disabled_at: number | null;
};

/** Null when the operator already has an unrevoked token with this label. */
export async function insertApiToken(tx: Tx, row: Unsealed<'api_tokens'>): Promise<ApiTokenRow | null> {
  const inserted = await tx
    .insertInto('api_tokens')
    .values(sealed(tx, 'api_tokens', row))
    .onConflict((conflict) =>
      conflict.columns(['operator_id', 'label']).where('revoked_at', 'is', null).doNothing(),
    )
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'api_tokens', inserted);
}

export async function findTokenByHash(db: Db, secretHash: string): Promise<MadeToken | null> {
  return openedToken(db, await made(db).where('t.secret_hash', '=', secretHash).executeTakeFirst());
}

/** An unrevoked token. */
export async function findApiToken(db: Db, id: string): Promise<MadeToken | null> {
  const query = made(db).where('t.id', '=', id).where('t.revoked_at', 'is', null);
  return openedToken(db, await query.executeTakeFirst());
}

/** Unrevoked tokens, newest first; `before` is the last id of the previous page. */
export async function listApiTokens(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<MadeToken[]> {
  const rows = await listOpened(db, 'api_tokens', {
    ...{ limit, after: before, keyOf: ({ id }: StoredToken) => id },
    page(last) {
      const query = made(db).where('t.revoked_at', 'is', null).orderBy('t.id', 'desc').limit(limit);
      return (last === null ? query : query.where('t.id', '<', last)).execute();
    },
  });
  return rows.flatMap((row) => openedToken(db, row) ?? []);
}

export async function countApiTokens(db: Db): Promise<number> {
  const row = await db
    .selectFrom('api_tokens')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Compare-and-swap: changes nothing when a use was recorded a moment ago. */
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

/** Compare-and-swap; false when there is no such unrevoked token. */
export async function markApiTokenRevoked(
  tx: Tx,
  { id, atMs }: { id: string; atMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('api_tokens')
    .set({ revoked_at: atMs, seal: null })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  tx.context.revocations.push({ kind: 'api_token', id, atMs });
  return true;
}

/** Revokes all unrevoked tokens of an operator; returns how many. */
export async function revokeTokensOf(
  tx: Tx,
  { operatorId, atMs }: { operatorId: string; atMs: number },
): Promise<number> {
  const rows = await tx
    .updateTable('api_tokens')
    .set({ revoked_at: atMs, seal: null })
    .where('operator_id', '=', operatorId)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute();
  for (const { id } of rows) tx.context.revocations.push({ kind: 'api_token', id, atMs });
  return rows.length;
}

function made(db: Db) {
  return db
    .selectFrom('api_tokens as t')
    .leftJoin('operators', 'operators.id', 't.operator_id')
    .selectAll('t')
    .select(COVERED_OPERATOR);
}

type StoredToken = Awaited<ReturnType<ReturnType<typeof made>['executeTakeFirstOrThrow']>>;

/** The token and its creator, each with a valid seal; a creator with a broken seal counts as deleted. */
function openedToken(db: Db, stored: StoredToken | undefined): MadeToken | null {
  const token = opened(db, 'api_tokens', stored);
  if (!token) return null;
  const maker = opened(db, 'operators', makerOf(token));
  return {
    ...token,
    maker_name: maker?.username ?? null,
    maker_role: maker?.role ?? null,
    maker_groups: maker?.groups ?? null,
    maker_disabled_at: maker?.disabled_at ?? null,
  };
}

function makerOf(row: StoredToken): (Covered<'operators'> & { seal: string | null }) | null {
  const { o_id, o_username, o_password_hash, o_role, o_created_at, ...rest } = row;
  const known = o_id !== null && o_username !== null && o_password_hash !== null;
  if (!known || o_role === null || o_created_at === null) return null;
  return operatorOf({ ...rest, o_id, o_username, o_password_hash, o_role, o_created_at });
}
