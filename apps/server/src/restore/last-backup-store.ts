import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type LastBackupRow = Omit<Tables['last_backup'], 'id'>;

/** Null: nobody has told of one. */
export async function readLastBackup(db: Db): Promise<LastBackupRow | null> {
  return (
    (await db.selectFrom('last_backup').select(['taken_at', 'bytes', 'made_by']).executeTakeFirst()) ?? null
  );
}

/** Replaces what was known: a clock that was set back must not keep an earlier record. */
export async function writeLastBackup(tx: Tx, row: LastBackupRow): Promise<void> {
  await tx
    .insertInto('last_backup')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute();
}
