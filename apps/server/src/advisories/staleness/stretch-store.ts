import type { Tx } from '../../platform/db/engine.ts';

/** Begins a stale period; false when one is under way. */
export async function claimStretch(
  tx: Tx,
  { ecosystem, nowMs }: { ecosystem: string; nowMs: number },
): Promise<boolean> {
  const row = await tx
    .insertInto('advisory_stretches')
    .values({ ecosystem, since: nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .returning('ecosystem')
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends the stale periods of all other ecosystems. */
export async function endStretches(tx: Tx, but: readonly string[]): Promise<void> {
  const query = tx.deleteFrom('advisory_stretches');
  await (but.length > 0 ? query.where('ecosystem', 'not in', [...but]) : query).execute();
}
