import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type ProviderRow = Opened<'identity_providers'>;
type Change = Partial<Omit<ProviderRow, 'id' | 'issuer' | 'created_by' | 'created_at'>>;

export async function findProvider(db: Db, id: string): Promise<ProviderRow | null> {
  const query = db.selectFrom('identity_providers').selectAll().where('id', '=', id);
  return opened(db, 'identity_providers', await query.executeTakeFirst());
}

/** By name. There are at most PROVIDERS_MAX. */
export async function listProviders(db: Db): Promise<ProviderRow[]> {
  const rows = await db.selectFrom('identity_providers').selectAll().orderBy('name').orderBy('id').execute();
  return rows.flatMap((row) => opened(db, 'identity_providers', row) ?? []);
}

/** Counts rows with broken seals too. */
export async function countProviders(db: Db): Promise<number> {
  const row = await db
    .selectFrom('identity_providers')
    .select((e) => e.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return Number(row.n);
}

/** Null when the id is taken. */
export async function insertProvider(
  tx: Tx,
  row: Unsealed<'identity_providers'>,
): Promise<ProviderRow | null> {
  const inserted = await tx
    .insertInto('identity_providers')
    .values(sealed(tx, 'identity_providers', row))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'identity_providers', inserted);
}

/** Like `findProvider`, with the row locked until the transaction ends. */
export async function lockProvider(tx: Tx, id: string): Promise<ProviderRow | null> {
  const locked = await tx
    .updateTable('identity_providers')
    .set({ created_at: sql<number>`created_at` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'identity_providers', locked);
}

/** The transaction must have locked the row. Returns its new state. */
export async function updateProvider(tx: Tx, before: ProviderRow, set: Change): Promise<ProviderRow> {
  const after = { ...before, ...set };
  const { seal } = sealed(tx, 'identity_providers', after);
  await tx
    .updateTable('identity_providers')
    .set({ ...set, seal })
    .where('id', '=', before.id)
    .execute();
  return after;
}

/** Deletes its accounts too. A provider whose seal is broken can be deleted; false when there is none. */
export async function deleteProvider(tx: Tx, id: string): Promise<boolean> {
  const result = await tx.deleteFrom('identity_providers').where('id', '=', id).executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** Compare-and-swap: false when this was used before. Forgets what would be refused for its age anyway. */
export async function useOnce(
  tx: Tx,
  { hash, expiresAt, nowMs }: { hash: string; expiresAt: number; nowMs: number },
): Promise<boolean> {
  await tx.deleteFrom('used_sign_ins').where('expires_at', '<=', nowMs).execute();
  const used = await tx
    .insertInto('used_sign_ins')
    .values({ hash, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('hash')
    .executeTakeFirst();
  return used !== undefined;
}
