import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type SigningKeyRow = Tables['signing_keys'];
export type KeySetRow = Tables['key_sets'];
export type RootRow = Tables['signing_roots'];
export type FleetRow = Tables['fleet'];

export async function readFleet(db: Db): Promise<FleetRow | null> {
  return (await db.selectFrom('fleet').selectAll().executeTakeFirst()) ?? null;
}

export async function insertFleet(tx: Tx, row: Omit<FleetRow, 'id'>): Promise<void> {
  await tx
    .insertInto('fleet')
    .values({ id: 1, ...row })
    .execute();
}

/** Locks the fleet's row until the end of the transaction, which serializes key changes. */
export async function lockFleet(tx: Tx): Promise<FleetRow> {
  return tx
    .updateTable('fleet')
    .set((e) => ({ epoch: e.ref('epoch') }))
    .where('id', '=', 1)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Sets a new epoch of the server, which ends the commands of earlier ones. */
export async function setEpoch(tx: Tx, epoch: number): Promise<void> {
  await tx.updateTable('fleet').set({ epoch }).where('epoch', '<', epoch).execute();
}

/** Every key, newest first. */
export async function listKeys(db: Db): Promise<SigningKeyRow[]> {
  return db.selectFrom('signing_keys').selectAll().orderBy('version', 'desc').execute();
}

export async function insertKey(tx: Tx, row: SigningKeyRow): Promise<void> {
  await tx.insertInto('signing_keys').values(row).execute();
}

/** Compare-and-swap from active; false if the key was not active. Forward-only: nothing reverts it. */
export async function revokeKey(tx: Tx, { keyId, now }: { keyId: string; now: number }): Promise<boolean> {
  const result = await tx
    .updateTable('signing_keys')
    .set({ status: 'revoked', revoked_at: now })
    .where('key_id', '=', keyId)
    .where('status', '=', 'active')
    .where('in_use', '=', 0)
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) return false;
  tx.context.revocations.push({ kind: 'key', id: keyId, atMs: now });
  return true;
}

/** Revokes every active key, also the one in use, for a new start. Forward-only. */
export async function revokeEveryKey(tx: Tx, now: number): Promise<void> {
  const rows = await tx
    .updateTable('signing_keys')
    .set({ status: 'revoked', revoked_at: now, in_use: 0 })
    .where('status', '=', 'active')
    .returning('key_id')
    .execute();
  for (const { key_id } of rows) tx.context.revocations.push({ kind: 'key', id: key_id, atMs: now });
}

export async function setKeyInUse(tx: Tx, keyId: string): Promise<void> {
  await tx.updateTable('signing_keys').set({ in_use: 0 }).where('in_use', '=', 1).execute();
  await tx.updateTable('signing_keys').set({ in_use: 1 }).where('key_id', '=', keyId).execute();
}

export async function newestKeySet(db: Db): Promise<KeySetRow | null> {
  const row = await db
    .selectFrom('key_sets')
    .selectAll()
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

export async function insertKeySet(tx: Tx, row: KeySetRow): Promise<void> {
  await tx.insertInto('key_sets').values(row).execute();
  tx.context.hasNewKeySet = true;
}

/** The key sets after a version, oldest first. */
export async function keySetsAfter(
  db: Db,
  { version, limit }: { version: number; limit: number },
): Promise<KeySetRow[]> {
  return db
    .selectFrom('key_sets')
    .selectAll()
    .where('version', '>', version)
    .orderBy('version')
    .limit(limit)
    .execute();
}

/** Records the key set that introduced a key that waited for the root. */
export async function setFirstKeySet(
  tx: Tx,
  { keyId, version }: { keyId: string; version: number },
): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ first_key_set_version: version })
    .where('key_id', '=', keyId)
    .execute();
}

/** Every root document after a version, oldest first; there are few (`ROOTS_MAX`). */
export async function rootsAfter(db: Db, version: number): Promise<RootRow[]> {
  return db
    .selectFrom('signing_roots')
    .selectAll()
    .where('version', '>', version)
    .orderBy('version')
    .execute();
}

export async function insertRoot(tx: Tx, row: RootRow): Promise<void> {
  await tx.insertInto('signing_roots').values(row).execute();
}
