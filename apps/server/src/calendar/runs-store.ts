import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type RunSlot = Tables['run_slots'];

/** When a command changed for the first time from this moment on; null: none did. */
export async function firstChangeSince(db: Db, sinceMs: number): Promise<number | null> {
  const row = await db
    .selectFrom('agent_commands')
    .select('changed_at')
    .where('changed_at', '>=', sinceMs)
    .orderBy('changed_at')
    .limit(1)
    .executeTakeFirst();
  return row?.changed_at ?? null;
}

export async function countedUntil(db: Db): Promise<number | null> {
  return (await db.selectFrom('run_mark').select('until').executeTakeFirst())?.until ?? null;
}

/** Compare-and-swap: false if another server has moved it meanwhile. */
export async function moveMark(tx: Tx, { from, to }: { from: number | null; to: number }): Promise<boolean> {
  if (from === null) {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('run_mark')
      .values({ id: 1, until: to })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }
  const { numUpdatedRows } = await tx
    .updateTable('run_mark')
    .set({ until: to })
    .where('until', '=', from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Installations that ended in this time, by the policy that approved them. Joins the tables of commands and approvals. */
export async function endedIn(
  db: Db,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<Omit<RunSlot, 'slot'>[]> {
  const rows = await db
    .selectFrom('agent_commands as c')
    .leftJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select((e) => [
      e.fn.coalesce('a.policy_id', sql<string>`''`).as('policy_id'),
      countOf(sql`c.status = 'success'`).as('installed'),
      countOf(sql`c.status IN ('failed', 'interrupted')`).as('failed'),
      countOf(sql`c.status = 'refused'`).as('refused'),
    ])
    .where('c.changed_at', '>=', fromMs)
    .where('c.changed_at', '<', toMs)
    .where('c.action', '=', 'install_update')
    .where('c.status', 'in', ['success', 'failed', 'interrupted', 'refused'])
    .groupBy('a.policy_id')
    .execute();
  return rows.map((row) => ({
    policy_id: row.policy_id,
    ...{ installed: Number(row.installed), failed: Number(row.failed), refused: Number(row.refused) },
  }));
}

const countOf = (condition: RawBuilder<unknown>) =>
  sql<number>`sum(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;

/** Adds to what a quarter of an hour has. */
export async function addRuns(tx: Tx, rows: readonly RunSlot[]): Promise<void> {
  for (const row of rows) {
    await tx
      .insertInto('run_slots')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['slot', 'policy_id']).doUpdateSet((e) => ({
          installed: e('run_slots.installed', '+', row.installed),
          failed: e('run_slots.failed', '+', row.failed),
          refused: e('run_slots.refused', '+', row.refused),
        })),
      )
      .execute();
  }
}

export async function dropRunsBefore(tx: Tx, slot: number): Promise<void> {
  await tx.deleteFrom('run_slots').where('slot', '<', slot).execute();
}

export async function dropRunsFrom(tx: Tx, slot: number): Promise<void> {
  await tx.deleteFrom('run_slots').where('slot', '>=', slot).execute();
}

/** What ran in the quarters of an hour from `fromSlot` to before `toSlot`, by policy. */
export async function runsIn(
  db: Db,
  { fromSlot, toSlot }: { fromSlot: number; toSlot: number },
): Promise<Omit<RunSlot, 'slot'>[]> {
  const rows = await db
    .selectFrom('run_slots')
    .select((e) => [
      'policy_id',
      e.fn.sum<number>('installed').as('installed'),
      e.fn.sum<number>('failed').as('failed'),
      e.fn.sum<number>('refused').as('refused'),
    ])
    .where('slot', '>=', fromSlot)
    .where('slot', '<', toSlot)
    .groupBy('policy_id')
    .orderBy('policy_id')
    .execute();
  return rows.map((row) => ({
    policy_id: row.policy_id,
    ...{ installed: Number(row.installed), failed: Number(row.failed), refused: Number(row.refused) },
  }));
}
