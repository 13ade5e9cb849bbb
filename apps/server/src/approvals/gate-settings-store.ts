import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

/** A setting that an operator has made; null if there is none, or none that this server wrote. */
export async function readGateSetting(db: Db, id: string): Promise<Opened<'gate_settings'> | null> {
  const row = await db.selectFrom('gate_settings').selectAll().where('id', '=', id).executeTakeFirst();
  return opened(db, 'gate_settings', row) ?? null;
}

export async function writeGateSetting(tx: Tx, row: Unsealed<'gate_settings'>): Promise<void> {
  const values = sealed(tx, 'gate_settings', row);
  await tx
    .insertInto('gate_settings')
    .values(values)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
    .execute();
}
