import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type BulkRunRow = Tables['bulk_runs'];
export type BulkRunKey = Pick<BulkRunRow, 'operator_id' | 'progress_id'>;
export type BulkCounts = Pick<BulkRunRow, 'done' | 'approved' | 'blocked' | 'waiting' | 'skipped'>;

/** False when the operator already has a run with this id. */
export async function insertRun(tx: Tx, row: BulkRunRow): Promise<boolean> {
  const inserted = await tx
    .insertInto('bulk_runs')
    .values(row)
    .onConflict((conflict) => conflict.columns(['operator_id', 'progress_id']).doNothing())
    .returning('progress_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function setRun(
  tx: Tx,
  { operator_id, progress_id }: BulkRunKey,
  set: BulkCounts & Partial<Pick<BulkRunRow, 'state' | 'answer'>> & { updated_at: number },
): Promise<void> {
  await tx
    .updateTable('bulk_runs')
    .set(set)
    .where('operator_id', '=', operator_id)
    .where('progress_id', '=', progress_id)
    .execute();
}

export async function findRun(db: Db, { operator_id, progress_id }: BulkRunKey): Promise<BulkRunRow | null> {
  const row = await db
    .selectFrom('bulk_runs')
    .selectAll()
    .where('operator_id', '=', operator_id)
    .where('progress_id', '=', progress_id)
    .executeTakeFirst();
  return row ?? null;
}

/** Deletes runs without a write since then, and all but an operator's newest. */
export async function dropRuns(
  tx: Tx,
  { operatorId, beforeMs, keep }: { operatorId: string; beforeMs: number; keep: number },
): Promise<void> {
  await tx.deleteFrom('bulk_runs').where('updated_at', '<', beforeMs).execute();
  const kept = tx
    .selectFrom('bulk_runs')
    .select('progress_id')
    .where('operator_id', '=', operatorId)
    .orderBy('updated_at', 'desc')
    .orderBy('progress_id', 'desc')
    .limit(keep);
  await tx
    .deleteFrom('bulk_runs')
    .where('operator_id', '=', operatorId)
    .where('progress_id', 'not in', kept)
    .execute();
}
