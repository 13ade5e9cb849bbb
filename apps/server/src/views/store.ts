import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ViewRow = Tables['saved_views'];

/** An operator's views, and the shared ones that it may see, oldest first; `after` is the last id. */
export async function listViews(
  db: Db,
  args: { operatorId: string; seesShared: boolean; limit: number; after: string | null },
): Promise<ViewRow[]> {
  let query = seen(db, args).selectAll().orderBy('id').limit(args.limit);
  if (args.after !== null) query = query.where('id', '>', args.after);
  return query.execute();
}

export async function countViews(db: Db, args: { operatorId: string; seesShared: boolean }): Promise<number> {
  const row = await seen(db, args)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export async function findView(db: Db, id: string): Promise<ViewRow | null> {
  return (await db.selectFrom('saved_views').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** False if the operator already has a view of that name for the page. */
export async function insertView(tx: Tx, row: ViewRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('saved_views')
    .values(row)
    .onConflict((conflict) => conflict.columns(['operator_id', 'page', 'name']).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export async function deleteView(tx: Tx, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('saved_views').where('id', '=', id).executeTakeFirst();
  return numDeletedRows === 1n;
}

function seen(db: Db, { operatorId, seesShared }: { operatorId: string; seesShared: boolean }) {
  const query = db.selectFrom('saved_views');
  if (!seesShared) return query.where('operator_id', '=', operatorId);
  return query.where((e) => e.or([e('operator_id', '=', operatorId), e('shared', '=', 1)]));
}
