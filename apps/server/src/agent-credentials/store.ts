import type { Database, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type FamilyRow = Tables['refresh_families'];

/** Reads and locks a family until the transaction ends. */
export async function lockFamily(
  tx: Tx,
  { engine, familyId }: { engine: Database['engine']; familyId: string },
): Promise<FamilyRow | null> {
  const query = tx.selectFrom('refresh_families').selectAll().where('id', '=', familyId);
  // SQLite has one writer at a time and no row locks.
  const row = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  return row ?? null;
}

/** The active family of an agent, locked; there is at most one (unique index). */
export async function lockActiveFamily(
  tx: Tx,
  { engine, agentId }: { engine: Database['engine']; agentId: string },
): Promise<FamilyRow | null> {
  const query = tx
    .selectFrom('refresh_families')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('status', '=', 'active');
  const row = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  return row ?? null;
}

export async function insertFamily(tx: Tx, row: FamilyRow): Promise<void> {
  await tx.insertInto('refresh_families').values(row).execute();
}

export type Rotation = Pick<
  FamilyRow,
  | 'cur_seq'
  | 'cur_hash'
  | 'cur_issued_at'
  | 'prev_hash'
  | 'prev_issued_at'
  | 'prev_grace_used'
  | 'displaced_hashes'
  | 'request_id_hash'
  | 'sealed_child'
  | 'last_rotated_at'
  | 'expires_at'
>;

/** Compare-and-swap: changes the family only while it is active and its current token is the one that was read. */
export async function rotateFamily(
  tx: Tx,
  { familyId, fromHash, rotation }: { familyId: string; fromHash: string; rotation: Rotation },
): Promise<boolean> {
  const result = await tx
    .updateTable('refresh_families')
    .set(rotation)
    .where('id', '=', familyId)
    .where('status', '=', 'active')
    .where('cur_hash', '=', fromHash)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Revokes an active family, which is final; false when it was not active. */
export async function markFamilyRevoked(
  tx: Tx,
  { familyId, reason, atMs }: { familyId: string; reason: string; atMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('refresh_families')
    .set({ status: 'revoked', revoked_reason: reason, revoked_at: atMs, sealed_child: null })
    .where('id', '=', familyId)
    .where('status', '=', 'active')
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  tx.context.revocations.push({ kind: 'family', id: familyId, atMs, reason });
  return true;
}
