import type { Db, Tx } from '../db/engine.ts';
import type { Tables } from '../db/tables.ts';

export type RetentionClockRow = Omit<Tables['retention_clock'], 'id'>;

/** Null: the server has never looked at its clock, and has no past. */
export async function readRetentionClock(db: Db): Promise<RetentionClockRow | null> {
  const row = await db
    .selectFrom('retention_clock')
    .select(['believed_at', 'read_at', 'stood_ms'])
    .executeTakeFirst();
  return row ?? null;
}

export async function saveRetentionClock(tx: Tx, row: RetentionClockRow): Promise<void> {
  await tx
    .insertInto('retention_clock')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute();
}
