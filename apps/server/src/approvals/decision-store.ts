import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type DecisionRow = Tables['decisions'];

export async function insertDecision(tx: Tx, row: DecisionRow): Promise<void> {
  await tx.insertInto('decisions').values(row).execute();
}

export async function newestDecision(
  db: Db,
  updateId: string,
): Promise<Pick<DecisionRow, 'id' | 'fingerprint' | 'document_sha256'> | null> {
  const row = await db
    .selectFrom('decisions')
    .select(['id', 'fingerprint', 'document_sha256'])
    .where('update_id', '=', updateId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

export async function repeatDecision(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  await tx
    .updateTable('decisions')
    .set({ repeats: sql<number>`repeats + 1`, repeated_at: nowMs })
    .where('id', '=', id)
    .execute();
}

/** Drops what is older than the newest `keep` of an update, but for what minted a token. */
export async function dropDecisions(
  tx: Tx,
  { updateId, keep }: { updateId: string; keep: number },
): Promise<void> {
  const [oldest] = await tx
    .selectFrom('decisions')
    .select('id')
    .where('update_id', '=', updateId)
    .orderBy('id', 'desc')
    .offset(keep)
    .limit(1)
    .execute();
  if (!oldest) return;
  await tx
    .deleteFrom('decisions')
    .where('update_id', '=', updateId)
    .where('id', '<=', oldest.id)
    .where('outcome', '!=', 'minted')
    .execute();
}

export async function findDecision(db: Db, id: string): Promise<DecisionRow | null> {
  return (await db.selectFrom('decisions').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Newest first; `before` is the id of the last row of the page before. */
export async function listDecisions(
  db: Db,
  { updateId, limit, before }: { updateId: string; limit: number; before: string | null },
): Promise<DecisionRow[]> {
  let query = db.selectFrom('decisions').selectAll().where('update_id', '=', updateId);
  if (before !== null) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export async function countDecisions(db: Db, updateId: string): Promise<number> {
  const row = await db
    .selectFrom('decisions')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('update_id', '=', updateId)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}
