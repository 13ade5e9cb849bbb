import type { Database, Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Revocation } from '../platform/db/write-context.ts';

/** Ids per statement. */
export const IDS_MAX = 500;

export async function readMarks(db: Db): Promise<Tables['fleet_marks']> {
  return db.selectFrom('fleet_marks').selectAll().executeTakeFirstOrThrow();
}

/** Raises the mark and returns it; the row stays locked until the transaction ends. */
export async function raiseMark(tx: Tx): Promise<Tables['fleet_marks']> {
  return tx
    .updateTable('fleet_marks')
    .set((e) => ({ mark: e('mark', '+', 1) }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Marks the restore as handled; later key sets of the fleet begin at the floor. */
export async function settleRestore(tx: Tx, keySetFloor: number): Promise<void> {
  await tx
    .updateTable('fleet_marks')
    .set({ restored_at: null, backup_created_at: null, key_set_floor: keySetFloor })
    .execute();
}

export async function markRestored(
  tx: Tx,
  { atMs, backupCreatedAtMs }: { atMs: number; backupCreatedAtMs: number },
): Promise<void> {
  await tx
    .updateTable('fleet_marks')
    .set({ restored_at: atMs, backup_created_at: backupCreatedAtMs })
    .execute();
}

export async function noteServer(
  tx: Tx,
  { id, startedAtMs, seenAtMs }: { id: string; startedAtMs: number; seenAtMs: number },
): Promise<void> {
  await tx
    .insertInto('server_instances')
    .values({ id, started_at: startedAtMs, seen_at: seenAtMs })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: seenAtMs }))
    .execute();
}

/** Removes one server, or those that have not been seen since then. */
export async function forgetServers(
  tx: Tx,
  { id, unseenSinceMs }: { id: string | null; unseenSinceMs: number },
): Promise<void> {
  await tx
    .deleteFrom('server_instances')
    .where((e) => (id === null ? e('seen_at', '<', unseenSinceMs) : e('id', '=', id)))
    .execute();
}

export async function countLiveServers(db: Db, seenSinceMs: number): Promise<number> {
  const row = await db
    .selectFrom('server_instances')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('seen_at', '>=', seenSinceMs)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export async function readEventHead(db: Db): Promise<{ position: number; hash: string | null }> {
  return db.selectFrom('events_head').select(['position', 'hash']).executeTakeFirstOrThrow();
}

/** Null if there is no such event, or it was pruned. */
export async function eventHashAt(db: Db, position: number): Promise<string | null> {
  const row = await db
    .selectFrom('events')
    .select('hash')
    .where('position', '=', position)
    .executeTakeFirst();
  return row?.hash ?? null;
}

/**
 * Revocations in the database since then; deleted operators leave none. This slice reads tables of other
 * slices, because the journal covers them all.
 */
export async function revokedSince(db: Db, sinceMs: number): Promise<Revocation[]> {
  const families = await db
    .selectFrom('refresh_families')
    .select(['id', 'revoked_at'])
    .where('revoked_at', '>=', sinceMs)
    .execute();
  const agents = await db
    .selectFrom('agents')
    .select(['id', 'revoked_at'])
    .where('revoked_at', '>=', sinceMs)
    .execute();
  const deleted = await db
    .selectFrom('agents')
    .select(['id', 'deleted_at as revoked_at'])
    .where('deleted_at', '>=', sinceMs)
    .execute();
  const keys = await db
    .selectFrom('signing_keys')
    .select(['key_id as id', 'revoked_at'])
    .where('status', '=', 'revoked')
    .where('revoked_at', '>=', sinceMs)
    .execute();
  const tokens = await db
    .selectFrom('api_tokens')
    .select(['id', 'revoked_at'])
    .where('revoked_at', '>=', sinceMs)
    .execute();
  const kinds = {
    ...{ family: families, agent: agents, deleted_agent: deleted, key: keys },
    api_token: tokens,
  } as const;
  return KINDS.flatMap((kind) =>
    kinds[kind].flatMap(({ id, revoked_at }) =>
      revoked_at === null ? [] : [{ kind, id, atMs: revoked_at }],
    ),
  );
}

const KINDS = ['family', 'agent', 'deleted_agent', 'key', 'api_token'] as const;

/**
 * Which of these are not revoked in the database; at most IDS_MAX of one kind. Leaves out an agent that was enrolled
 * again after its revocation. With `engine` the rows stay locked until the transaction ends.
 */
export async function notRevoked(
  tx: Tx,
  {
    kind,
    revocations,
    engine,
  }: {
    kind: Revocation['kind'];
    revocations: readonly Revocation[];
    engine: Database['engine'];
  },
): Promise<Revocation[]> {
  if (revocations.length === 0) return [];
  const open = new Map<string, number>();
  for (const { id, since } of await openRows(tx, { kind, ids: revocations.map(({ id }) => id), engine })) {
    open.set(id, since);
  }
  return revocations.filter(({ id, atMs }) => (open.get(id) ?? Number.POSITIVE_INFINITY) <= atMs);
}

/** The rows that are not revoked, with the time from which a revocation counts for them. */
async function openRows(
  tx: Tx,
  { kind, ids, engine }: { kind: Revocation['kind']; ids: string[]; engine: Database['engine'] },
): Promise<{ id: string; since: number }[]> {
  switch (kind) {
    case 'family': {
      const query = tx
        .selectFrom('refresh_families')
        .select(['id', 'created_at as since'])
        .where('id', 'in', ids)
        .where('status', '=', 'active');
      return (engine === 'postgres' ? query.forUpdate() : query).execute();
    }
    case 'agent': {
      const query = tx
        .selectFrom('agents')
        .select(['id', 'enrolled_at as since'])
        .where('id', 'in', ids)
        .where('status', '=', 'active');
      return (engine === 'postgres' ? query.forNoKeyUpdate() : query).execute();
    }
    case 'deleted_agent': {
      const query = tx
        .selectFrom('agents')
        .select(['id', 'enrolled_at as since'])
        .where('id', 'in', ids)
        .where('deleted_at', 'is', null);
      return (engine === 'postgres' ? query.forNoKeyUpdate() : query).execute();
    }
    case 'key': {
      const query = tx
        .selectFrom('signing_keys')
        .select(['key_id as id', 'created_at as since'])
        .where('key_id', 'in', ids)
        .where('status', '=', 'active');
      return (engine === 'postgres' ? query.forUpdate() : query).execute();
    }
    case 'deleted_operator': {
      const query = tx.selectFrom('operators').select(['id', 'created_at as since']).where('id', 'in', ids);
      return (engine === 'postgres' ? query.forUpdate() : query).execute();
    }
    case 'api_token': {
      const query = tx
        .selectFrom('api_tokens')
        .select(['id', 'created_at as since'])
        .where('id', 'in', ids)
        .where('revoked_at', 'is', null);
      return (engine === 'postgres' ? query.forUpdate() : query).execute();
    }
  }
}

/** Which of these have no row in the database. */
export async function absentIds(
  db: Db,
  {
    kind,
    ids,
  }: { kind: Exclude<Revocation['kind'], 'api_token' | 'deleted_operator'>; ids: readonly string[] },
): Promise<Set<string>> {
  const absent = new Set(ids);
  const rows =
    kind === 'family'
      ? await db.selectFrom('refresh_families').select('id').where('id', 'in', ids).execute()
      : kind === 'key'
        ? await db.selectFrom('signing_keys').select('key_id as id').where('key_id', 'in', ids).execute()
        : await db.selectFrom('agents').select('id').where('id', 'in', ids).execute();
  for (const { id } of rows) absent.delete(id);
  return absent;
}

export type ResyncRow = Opened<'resyncs'>;

export async function insertResync(tx: Tx, row: Unsealed<'resyncs'>): Promise<ResyncRow> {
  const values = sealed(tx, 'resyncs', row);
  const inserted = await tx.insertInto('resyncs').values(values).returningAll().executeTakeFirst();
  const resync = opened(tx, 'resyncs', inserted);
  if (!resync) throw new Error('a resync that was just sealed does not open');
  return resync;
}

/** The resync that is open at this time; null if none is. */
export async function openResync(db: Db, nowMs: number): Promise<ResyncRow | null> {
  const rows = await db
    .selectFrom('resyncs')
    .selectAll()
    .where('closed_at', 'is', null)
    .where('closes_at', '>', nowMs)
    .orderBy('opened_at', 'desc')
    .execute();
  for (const row of rows) {
    const resync = opened(db, 'resyncs', row);
    if (resync) return resync;
  }
  return null;
}

/** Compare-and-swap from open to closed; false if it is not open. */
export async function closeResync(tx: Tx, { id, atMs }: { id: string; atMs: number }): Promise<boolean> {
  const result = await tx
    .updateTable('resyncs')
    .set({ closed_at: atMs, seal: null })
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .where('closes_at', '>', atMs)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function isResynced(
  db: Db,
  { resyncId, familyId }: { resyncId: string; familyId: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('resynced_families')
    .select('family_id')
    .where('resync_id', '=', resyncId)
    .where('family_id', '=', familyId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Throws if the family has resynced before: the primary key allows it once. */
export async function insertResynced(tx: Tx, row: Tables['resynced_families']): Promise<void> {
  await tx.insertInto('resynced_families').values(row).execute();
}

export async function countResynced(db: Db, resyncId: string): Promise<number> {
  const row = await db
    .selectFrom('resynced_families')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('resync_id', '=', resyncId)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** The newest RESTORE_DETECTED event, as it is stored. */
export async function newestRestoreEvent(
  db: Db,
): Promise<{ id: string; content: string; created_at: number } | null> {
  const row = await db
    .selectFrom('events')
    .select(['id', 'content', 'created_at'])
    .where('type', '=', 'RESTORE_DETECTED')
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

export async function countActiveFamilies(db: Db): Promise<number> {
  const row = await db
    .selectFrom('refresh_families')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('status', '=', 'active')
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** The newest key sets, oldest first. */
export async function newestKeySets(db: Db, limit: number): Promise<Tables['key_sets'][]> {
  const rows = await db.selectFrom('key_sets').selectAll().orderBy('version', 'desc').limit(limit).execute();
  return rows.reverse();
}
