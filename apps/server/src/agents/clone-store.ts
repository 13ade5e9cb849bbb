import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { BOOTS_KEPT, type Observation } from './clone-rules.ts';

export type SuspicionRow = Tables['clone_suspicions'];

/** An agent's stored boots, at most BOOTS_KEPT. */
export async function bootsOf(db: Db, agentId: string): Promise<Observation[]> {
  const rows = await db
    .selectFrom('agent_boots')
    .select(['boot_id', 'address', 'last_seen_at'])
    .where('agent_id', '=', agentId)
    .execute();
  return rows.map((row) => ({ atMs: row.last_seen_at, bootId: row.boot_id, address: row.address }));
}

/** Stores a boot and where it was observed; `known` are the earlier boots, the oldest of which is dropped at the limit. */
export async function storeBoot(
  tx: Tx,
  { agentId, seen, known }: { agentId: string; seen: Observation; known: readonly Observation[] },
): Promise<void> {
  const row = { address: seen.address, last_seen_at: seen.atMs };
  await tx
    .insertInto('agent_boots')
    .values({ agent_id: agentId, boot_id: seen.bootId, ...row })
    .onConflict((conflict) => conflict.columns(['agent_id', 'boot_id']).doUpdateSet(row))
    .execute();
  const others = known.filter(({ bootId }) => bootId !== seen.bootId).toSorted((a, b) => b.atMs - a.atMs);
  const old = others.slice(BOOTS_KEPT - 1).map(({ bootId }) => bootId);
  if (old.length === 0) return;
  await tx.deleteFrom('agent_boots').where('agent_id', '=', agentId).where('boot_id', 'in', old).execute();
}

/** Deletes all boots except the present one. */
export async function forgetBoots(
  tx: Tx,
  { agentId, but }: { agentId: string; but: string | null },
): Promise<void> {
  let query = tx.deleteFrom('agent_boots').where('agent_id', '=', agentId);
  if (but !== null) query = query.where('boot_id', '<>', but);
  await query.execute();
}

export async function findSuspicion(db: Db, agentId: string): Promise<SuspicionRow | null> {
  const query = db.selectFrom('clone_suspicions').selectAll().where('agent_id', '=', agentId);
  return (await query.executeTakeFirst()) ?? null;
}

export async function writeSuspicion(tx: Tx, row: SuspicionRow): Promise<void> {
  const { agent_id: _, ...rest } = row;
  await tx
    .insertInto('clone_suspicions')
    .values(row)
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(rest))
    .execute();
}

/** Compare-and-swap, open to closed; false when none is open. */
export async function closeSuspicion(
  tx: Tx,
  { agentId, atMs, accepted }: { agentId: string; atMs: number; accepted?: readonly string[] },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('clone_suspicions')
    .set({
      closed_at: atMs,
      ...(accepted === undefined ? {} : { accepted_addresses: JSON.stringify(accepted) }),
    })
    .where('agent_id', '=', agentId)
    .where('closed_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
