import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type EnforcementRow = Tables['artifact_enforcements'];

/**
 * Queues a check of live approvals. An entry that is queued already keeps its place and increases its width, so that a
 * running check notices that it was queued again.
 */
export async function queueEnforcement(tx: Tx, row: EnforcementRow): Promise<void> {
  await tx
    .insertInto('artifact_enforcements')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['kind', 'subject']).doUpdateSet({
        width: sql<number>`CASE WHEN artifact_enforcements.width < excluded.width
          THEN excluded.width ELSE artifact_enforcements.width END + 1`,
      }),
    )
    .execute();
}

/** The next entries: half of them the widest, half the oldest, so that neither kind starves. */
export async function nextEnforcements(db: Db, size: number): Promise<EnforcementRow[]> {
  const queue = () => db.selectFrom('artifact_enforcements').selectAll();
  const widest = await queue()
    .orderBy('width', 'desc')
    .orderBy('queued_at')
    .orderBy('subject')
    .limit(size)
    .execute();
  const oldest = await queue().orderBy('queued_at').orderBy('subject').limit(size).execute();
  const picked = new Map<string, EnforcementRow>();
  for (let i = 0; i < size && picked.size < size; i++) {
    for (const row of [widest[i], oldest[i]]) {
      if (row && picked.size < size) picked.set(`${row.kind} ${row.subject}`, row);
    }
  }
  return [...picked.values()];
}

/** Removes a finished entry, unless it was queued again meanwhile. */
export async function endEnforcement(tx: Tx, { kind, subject, width }: EnforcementRow): Promise<void> {
  await tx
    .deleteFrom('artifact_enforcements')
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('width', '=', width)
    .execute();
}

export async function countEnforcements(db: Db): Promise<number> {
  const query = db.selectFrom('artifact_enforcements').select((e) => e.fn.countAll<number>().as('total'));
  return Number((await query.executeTakeFirstOrThrow()).total);
}
