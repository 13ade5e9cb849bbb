import type { Db, Tx } from '../../platform/db/engine.ts';
import type { Tables } from '../../platform/db/tables.ts';

export type NoticeRow = Tables['operator_notices'];

export async function insertNotice(tx: Tx, row: NoticeRow): Promise<void> {
  await tx.insertInto('operator_notices').values(row).execute();
}

/** Keeps an operator's newest notices and deletes the others. */
export async function keepNewestNotices(
  tx: Tx,
  { operatorId, kept }: { operatorId: string; kept: number },
): Promise<void> {
  const newest = tx
    .selectFrom('operator_notices')
    .select('id')
    .where('operator_id', '=', operatorId)
    .orderBy('id', 'desc')
    .limit(kept);
  await tx
    .deleteFrom('operator_notices')
    .where('operator_id', '=', operatorId)
    .where('id', 'not in', newest)
    .execute();
}

/** Newest first; the list is as short as `keepNewestNotices` leaves it. */
export async function listNotices(db: Db, operatorId: string): Promise<NoticeRow[]> {
  return db
    .selectFrom('operator_notices')
    .selectAll()
    .where('operator_id', '=', operatorId)
    .orderBy('id', 'desc')
    .execute();
}

export async function countUnreadNotices(db: Db, operatorId: string): Promise<number> {
  const row = await db
    .selectFrom('operator_notices')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('operator_id', '=', operatorId)
    .where('seen_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Marks notices up to this one; later ones stay unread. */
export async function markNoticesSeen(
  tx: Tx,
  { operatorId, untilId, nowMs }: { operatorId: string; untilId: string; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('operator_notices')
    .set({ seen_at: nowMs })
    .where('operator_id', '=', operatorId)
    .where('id', '<=', untilId)
    .where('seen_at', 'is', null)
    .execute();
}
