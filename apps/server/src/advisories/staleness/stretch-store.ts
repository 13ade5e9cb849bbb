import type { Tx } from '../../platform/db/engine.ts';

/** Begins a stretch; false where it is under way already. */
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

/** Ends every stretch but these. */
export async function endStretches(tx: Tx, but: readonly string[]): Promise<void> {
  const query = tx.deleteFrom('advisory_stretches');
  await (but.length > 0 ? query.where('ecosystem', 'not in', [...but]) : query).execute();
}
