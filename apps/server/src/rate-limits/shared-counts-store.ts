import type { Db, Tx } from '../platform/db/engine.ts';

interface CountOf {
  /** What is counted. */
  readonly name: string;
  /** Whose. */
  readonly key: string;
}

/** Locks the count of a key until the transaction ends, and returns what is stored; null for a new one. */
export async function lockCount(tx: Tx, { name, key }: CountOf): Promise<string | null> {
  const row = await tx
    .insertInto('shared_counts')
    .values({ name, key, state: '', idle_at: 0 })
    .onConflict((conflict) =>
      conflict.columns(['name', 'key']).doUpdateSet((e) => ({ key: e.ref('excluded.key') })),
    )
    .returning('state')
    .executeTakeFirstOrThrow();
  return row.state === '' ? null : row.state;
}

export async function writeCount(
  tx: Tx,
  { name, key, state, idleAtMs }: CountOf & { state: string; idleAtMs: number },
): Promise<void> {
  await tx
    .updateTable('shared_counts')
    .set({ state, idle_at: idleAtMs })
    .where('name', '=', name)
    .where('key', '=', key)
    .execute();
}

/** Removes what says nothing any more. */
export async function deleteIdleCounts(tx: Tx, nowMs: number): Promise<void> {
  await tx.deleteFrom('shared_counts').where('idle_at', '<=', nowMs).execute();
}

export async function hasCount(tx: Tx, { name, key }: CountOf): Promise<boolean> {
  const query = tx.selectFrom('shared_counts').select('key').where('name', '=', name).where('key', '=', key);
  return (await query.executeTakeFirst()) !== undefined;
}

/** How many keys are counted under a name, at most so many. */
export async function countUpTo(db: Db, { name, most }: { name: string; most: number }): Promise<number> {
  const some = db.selectFrom('shared_counts').select('key').where('name', '=', name).limit(most);
  const row = await db
    .selectFrom(some.as('some'))
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}
