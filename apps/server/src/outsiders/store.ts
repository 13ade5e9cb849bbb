import type { Db, Tx } from '../platform/db/engine.ts';
import { hotSql } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Amount } from './budget-rules.ts';

export type UsageRow = Tables['outsider_usage'];
type Of = Pick<UsageRow, 'kind' | 'subject' | 'day'>;

/** Adds to today's sum, refused attempts included, and returns it. */
export async function addUsage(tx: Tx, row: UsageRow): Promise<Amount> {
  const [used] = await tx.run(ADD_USAGE, [row.kind, row.subject, row.day, row.rows, row.bytes]);
  return { rows: Number(used?.[0]), bytes: Number(used?.[1]) };
}

const ADD_USAGE = hotSql(
  'add_outsider_usage',
  `INSERT INTO outsider_usage AS u (kind, subject, day, rows, bytes) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (kind, subject, day) DO UPDATE SET rows = u.rows + excluded.rows, bytes = u.bytes + excluded.bytes
    RETURNING rows, bytes`,
);

export async function readUsage(db: Db, of: Of): Promise<Amount | null> {
  const [used] = await db.run(READ_USAGE, [of.kind, of.subject, of.day]);
  return used ? { rows: Number(used[0]), bytes: Number(used[1]) } : null;
}

const READ_USAGE = hotSql(
  'read_outsider_usage',
  'SELECT rows, bytes FROM outsider_usage WHERE kind = ? AND subject = ? AND day = ?',
);

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
