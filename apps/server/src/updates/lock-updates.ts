import { chunks } from '../platform/db/chunks.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type LockedUpdate = Pick<Tables['updates'], 'state' | 'plan_id' | 'approval_id' | 'not_before'>;

/**
 * Locks the row of an update for this transaction: of concurrent approvals one proceeds, and the plan cannot
 * change during the decision. Null if the update is missing.
 */
export async function lockUpdate(
  tx: Tx,
  { engine, updateId }: { engine: Database['engine']; updateId: string },
): Promise<LockedUpdate | null> {
  return (await lockUpdates(tx, { engine, updateIds: [updateId] })).get(updateId) ?? null;
}

/** The same for many updates, by id; missing ones are omitted. */
export async function lockUpdates(
  tx: Tx,
  { engine, updateIds }: { engine: Database['engine']; updateIds: readonly string[] },
): Promise<Map<string, LockedUpdate>> {
  const found = new Map<string, LockedUpdate>();
  // In one order, so that two requests for the same updates do not deadlock.
  for (const some of chunks(updateIds.toSorted())) {
    const query = tx
      .selectFrom('updates')
      .select(['id', 'state', 'plan_id', 'approval_id', 'not_before'])
      .where('id', 'in', some)
      .orderBy('id');
    // SQLite has one writer at a time and no row locks.
    const rows = await (engine === 'postgres' ? query.forUpdate() : query).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/**
 * Locks the sums of these hosts, to which triggers add when an update changes its state: for a transaction that changes
 * updates of many hosts one after another.
 */
export async function lockHostSums(
  tx: Tx,
  { engine, agentIds }: { engine: Database['engine']; agentIds: readonly string[] },
): Promise<void> {
  if (engine !== 'postgres') return;
  // In one order, as triggers do it within a statement.
  for (const some of chunks([...new Set(agentIds)].toSorted())) {
    await tx
      .selectFrom('host_sums')
      .select('agent_id')
      .where('agent_id', 'in', some)
      .orderBy('agent_id')
      .forUpdate()
      .execute();
  }
}
