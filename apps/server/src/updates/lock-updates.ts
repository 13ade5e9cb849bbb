import { chunks } from '../platform/db/chunks.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type LockedUpdate = Pick<Tables['updates'], 'state' | 'plan_id' | 'not_before'>;

/**
 * Takes the row of an update for this transaction: of many approvals at once one goes on, and its plan cannot change
 * under the decision. Null where there is no such update.
 */
export async function lockUpdate(
  tx: Tx,
  { engine, updateId }: { engine: Database['engine']; updateId: string },
): Promise<LockedUpdate | null> {
  return (await lockUpdates(tx, { engine, updateIds: [updateId] })).get(updateId) ?? null;
}

/** The same for many updates, by id; one that is not there is left out. */
export async function lockUpdates(
  tx: Tx,
  { engine, updateIds }: { engine: Database['engine']; updateIds: readonly string[] },
): Promise<Map<string, LockedUpdate>> {
  const found = new Map<string, LockedUpdate>();
  // In one order, so that two requests for the same updates do not wait for each other.
  for (const some of chunks(updateIds.toSorted())) {
    const query = tx
      .selectFrom('updates')
      .select(['id', 'state', 'plan_id', 'not_before'])
      .where('id', 'in', some)
      .orderBy('id');
    // SQLite has one writer at a time and no row locks.
    const rows = await (engine === 'postgres' ? query.forUpdate() : query).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}
