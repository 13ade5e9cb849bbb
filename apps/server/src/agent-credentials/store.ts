import { type SqlBool, sql } from 'kysely';
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

/**
 * The families that no other transaction has locked, locked until this one ends. It waits for none of them, so that it
 * takes part in no deadlock. PostgreSQL only.
 */
export async function lockFreeFamilies(tx: Tx, familyIds: readonly string[]): Promise<FamilyRow[]> {
  return await tx
    .selectFrom('refresh_families')
    .selectAll()
    .where(sql<SqlBool>`id = ANY(${familyIds}::text[])`)
    .forUpdate()
    .skipLocked()
    .execute();
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

/** The same of several families in one statement; how many it changed. PostgreSQL only. */
export async function rotateFamilies(
  tx: Tx,
  rotations: readonly { familyId: string; fromHash: string; rotation: Rotation }[],
): Promise<number> {
  const rows = rotations.map(({ familyId, fromHash, rotation }) => ({
    ...rotation,
    id: familyId,
    from_hash: fromHash,
  }));
  const { numAffectedRows } =
    await sql`UPDATE refresh_families f SET cur_seq = r.cur_seq, cur_hash = r.cur_hash,
      cur_issued_at = r.cur_issued_at, prev_hash = r.prev_hash, prev_issued_at = r.prev_issued_at,
      prev_grace_used = r.prev_grace_used, displaced_hashes = r.displaced_hashes,
      request_id_hash = r.request_id_hash, sealed_child = r.sealed_child, last_rotated_at = r.last_rotated_at,
      expires_at = r.expires_at
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS r (id text, from_hash text, cur_seq bigint,
      cur_hash text, cur_issued_at bigint, prev_hash text, prev_issued_at bigint, prev_grace_used integer,
      displaced_hashes text, request_id_hash text, sealed_child text, last_rotated_at bigint, expires_at bigint)
    WHERE f.id = r.id AND f.status = 'active' AND f.cur_hash = r.from_hash`.execute(tx);
  return Number(numAffectedRows ?? 0n);
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
