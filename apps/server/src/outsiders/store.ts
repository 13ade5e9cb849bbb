import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Amount } from './budget-rules.ts';

export type UsageRow = Tables['outsider_usage'];
type Of = Pick<UsageRow, 'kind' | 'subject' | 'day'>;

/** Adds to today's sum, refused attempts included, and returns it. */
export async function addUsage(tx: Tx, row: UsageRow): Promise<Amount> {
  return tx
    .insertInto('outsider_usage')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject', 'day']).doUpdateSet({
        rows: sql`outsider_usage.rows + excluded.rows`,
        bytes: sql`outsider_usage.bytes + excluded.bytes`,
      }),
    )
    .returning(['rows', 'bytes'])
    .executeTakeFirstOrThrow();
}

export async function readUsage(db: Db, of: Of): Promise<Amount | null> {
  const row = await db
    .selectFrom('outsider_usage')
    .select(['rows', 'bytes'])
    .where('kind', '=', of.kind)
    .where('subject', '=', of.subject)
    .where('day', '=', of.day)
    .executeTakeFirst();
  return row ?? null;
}

/** The subjects that wrote most of a kind since a day, the heaviest first. */
export async function heaviestUsage(
  db: Db,
  of: { kind: string; sinceDay: number; limit: number },
): Promise<UsageRow[]> {
  return db
    .selectFrom('outsider_usage')
    .selectAll()
    .where('kind', '=', of.kind)
    .where('day', '>=', of.sinceDay)
    .orderBy('bytes', 'desc')
    .limit(of.limit)
    .execute();
}

export async function deleteUsageBefore(tx: Tx, day: number): Promise<void> {
  await tx.deleteFrom('outsider_usage').where('day', '<', day).execute();
}
