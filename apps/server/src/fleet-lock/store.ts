import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type FleetLockTokenRow = Opened<'fleet_lock_tokens'>;

export async function insertToken(tx: Tx, row: Unsealed<'fleet_lock_tokens'>): Promise<void> {
  await tx
    .insertInto('fleet_lock_tokens')
    .values(sealed(tx, 'fleet_lock_tokens', row))
    .execute();
}

/** A token that is not revoked; its secret is not compared yet. */
export async function findToken(db: Db, id: string): Promise<FleetLockTokenRow | null> {
  const row = await db
    .selectFrom('fleet_lock_tokens')
    .selectAll()
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return opened(db, 'fleet_lock_tokens', row);
}

/** Whether FleetLock is on at all. */
export async function isAnyToken(db: Db): Promise<boolean> {
  const query = db.selectFrom('fleet_lock_tokens').select('id').where('revoked_at', 'is', null).limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Tokens that are not revoked, of one group or of all. */
export async function countTokens(db: Db, group: string | null): Promise<number> {
  const query = db
    .selectFrom('fleet_lock_tokens')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('revoked_at', 'is', null);
  const own = group === null ? query : query.where('group_name', '=', group);
  return Number((await own.executeTakeFirstOrThrow()).total);
}

/** Tokens that are not revoked, by group. */
export async function listTokens(db: Db, { limit }: { limit: number }): Promise<FleetLockTokenRow[]> {
  const rows = await db
    .selectFrom('fleet_lock_tokens')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('group_name')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.flatMap((row) => opened(db, 'fleet_lock_tokens', row) ?? []);
}

/** Compare-and-swap: the group of the token, or null where there is none that is not revoked. */
export async function markRevoked(
  tx: Tx,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<string | null> {
  const row = await tx
    .updateTable('fleet_lock_tokens')
    .set({ revoked_at: nowMs, seal: null })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('group_name')
    .executeTakeFirst();
  return row?.group_name ?? null;
}
