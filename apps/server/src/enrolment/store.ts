import { type SqlBool, sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type RegistrationTokenRow = Opened<'registration_tokens'>;

export async function insertRegistrationToken(
  tx: Tx,
  row: Unsealed<'registration_tokens'>,
): Promise<RegistrationTokenRow> {
  const values = sealed(tx, 'registration_tokens', row);
  const inserted = await tx
    .insertInto('registration_tokens')
    .values(values)
    .returningAll()
    .executeTakeFirst();
  const token = opened(tx, 'registration_tokens', inserted);
  if (!token) throw new Error('a registration token that was just sealed does not open');
  return token;
}

/** Null if it is missing, deleted, or its group is out of the scope. */
export async function findRegistrationToken(
  db: Db,
  { id, scope }: { id: string; scope: GroupScope },
): Promise<RegistrationTokenRow | null> {
  const row = await present(db, scope).selectAll().where('id', '=', id).executeTakeFirst();
  return opened(db, 'registration_tokens', row);
}

/**
 * Locks the token of a secret if it is neither deleted nor expired; it may have no free seat. The lock
 * ensures that the seat is taken from the opened row.
 */
export async function lockUsableToken(
  tx: Tx,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<RegistrationTokenRow | null> {
  const row = await tx
    .updateTable('registration_tokens')
    .set({ seats_used: sql<number>`seats_used` })
    .where('secret_hash', '=', secretHash)
    .where('deleted_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'registration_tokens', row);
}

/** Takes a seat of a token that the transaction has locked; false if no seat is left. */
export async function takeSeat(tx: Tx, token: RegistrationTokenRow): Promise<boolean> {
  if (token.seats_used >= token.seats) return false;
  const seats_used = token.seats_used + 1;
  const { seal } = sealed(tx, 'registration_tokens', { ...token, seats_used });
  await tx.updateTable('registration_tokens').set({ seats_used, seal }).where('id', '=', token.id).execute();
  return true;
}

/** False if the token is missing or already deleted. */
export async function markTokenDeleted(tx: Tx, { id, atMs }: { id: string; atMs: number }): Promise<boolean> {
  const result = await tx
    .updateTable('registration_tokens')
    .set({ deleted_at: atMs, seal: null })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export interface WhichTokens {
  readonly scope: GroupScope;
  /** Only those with free seats that are in the last quarter of their time. */
  readonly endingAtMs?: number | undefined;
}

/** Newest first: ids rise with time. `before` is the last id of the previous page. */
export async function listRegistrationTokens(
  db: Db,
  { limit, before, ...which }: WhichTokens & { limit: number; before: string | null },
): Promise<RegistrationTokenRow[]> {
  return listOpened(db, 'registration_tokens', {
    ...{ limit, after: before, keyOf: ({ id }) => id },
    page(last) {
      const query = meant(db, which).selectAll().orderBy('id', 'desc').limit(limit);
      return (last === null ? query : query.where('id', '<', last)).execute();
    },
  });
}

export async function countRegistrationTokens(db: Db, which: WhichTokens): Promise<number> {
  const row = await meant(db, which)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

function meant(db: Db, { scope, endingAtMs: nowMs }: WhichTokens) {
  const query = present(db, scope);
  if (nowMs === undefined) return query;
  return query
    .whereRef('seats_used', '<', 'seats')
    .where('expires_at', '>', nowMs)
    .where(sql<SqlBool>`(expires_at - ${nowMs}) * 4 < expires_at - created_at`);
}

/** Not withdrawn, and in the scope: only operators of the whole fleet see tokens without a group. */
function present(db: Db, scope: GroupScope) {
  const query = db.selectFrom('registration_tokens').where('deleted_at', 'is', null);
  return scope === null ? query : query.where(groupInScope(scope, 'group_name'));
}
