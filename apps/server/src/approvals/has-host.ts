import { findAgent } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { findUpdate } from '../updates/store.ts';

/** Whether the update's host is not deleted: updates of a deleted host cannot be decided. */
export async function hasHost(db: Db, updateId: string): Promise<boolean> {
  const update = await findUpdate(db, updateId);
  return update !== null && (await findAgent(db, update.agent_id)) !== null;
}
