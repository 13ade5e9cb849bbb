import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type DecisionRow = Tables['decisions'];

export async function insertDecisions(tx: Tx, rows: readonly DecisionRow[]): Promise<void> {
  for (const some of chunks(rows)) await tx.insertInto('decisions').values(some).execute();
}

type NewestDecision = Pick<DecisionRow, 'id' | 'fingerprint' | 'document_sha256'>;

/** The newest decision of each update that has one, by update. */
export async function newestDecisions(
  db: Db,
  updateIds: readonly string[],
): Promise<Map<string, NewestDecision>> {
  const found = new Map<string, NewestDecision>();
  for (const some of chunks(updateIds)) {
    const newest = db
      .selectFrom('decisions')
      .select((e) => e.fn.max('id').as('id'))
      .where('update_id', 'in', some)
      .groupBy('update_id');
    const rows = await db
      .selectFrom('decisions')
      .select(['id', 'update_id', 'fingerprint', 'document_sha256'])
      .where('id', 'in', newest)
      .execute();
    for (const row of rows) found.set(row.update_id, row);
  }
  return found;
}

/** Those of these updates with more decisions than this. */
export async function crowdedUpdates(
  db: Db,
  { updateIds, most }: { updateIds: readonly string[]; most: number },
): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(updateIds)) {
    const rows = await db
      .selectFrom('decisions')
      .select('update_id')
      .where('update_id', 'in', some)
      .groupBy('update_id')
      .having((e) => e.fn.countAll(), '>', most)
      .execute();
    found.push(...rows.map(({ update_id }) => update_id));
  }
  return found;
}

export async function repeatDecision(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  await tx
    .updateTable('decisions')
    .set({ repeats: sql<number>`repeats + 1`, repeated_at: nowMs })
    .where('id', '=', id)
    .execute();
}

/** Deletes decisions older than an update's newest `keep`, except those that minted a token. */
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

/** Newest first; `before` is the last id of the previous page. */
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
