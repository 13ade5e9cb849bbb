import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';
import { byScope, type Named, namesOf, versionsOf } from './named.ts';

export type ArtifactRow = Tables['artifacts'];
export type DivergenceRow = Tables['artifact_divergences'];
export type HashRow = Tables['artifact_hashes'];
export type DecisionRow = Opened<'artifact_decisions'>;

/** Keeps existing rows: of two simultaneous first claims one is first. Returns the number of new rows. */
export async function insertArtifacts(tx: Tx, rows: readonly ArtifactRow[]): Promise<number> {
  let inserted = 0;
  for (const some of chunks(rows)) {
    const result = await tx
      .insertInto('artifacts')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    inserted += Number(result.numInsertedOrUpdatedRows ?? 0n);
  }
  return inserted;
}

/** Waits for every other transaction that makes a first claim on these. */
export async function lockArtifacts(tx: Tx, named: readonly Named[]): Promise<void> {
  for (const { scope, part } of byScope(named)) {
    await tx
      .updateTable('artifacts')
      .set({ seen_at: sql<number>`seen_at` })
      .where('scope', '=', scope)
      .where('name', 'in', namesOf(part))
      .where('version', 'in', versionsOf(part))
      .execute();
  }
}

/** Inserts the divergence of an artifact unless it exists; either way its row is locked by this transaction. */
export async function takeDivergence(tx: Tx, row: DivergenceRow): Promise<DivergenceRow> {
  return tx
    .insertInto('artifact_divergences')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['scope', 'name', 'version', 'variant', 'algorithm'])
        .doUpdateSet({ hash_count: sql<number>`artifact_divergences.hash_count` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Locks a divergence: no hash joins it meanwhile. */
export async function lockDivergence(tx: Tx, id: string): Promise<DivergenceRow | null> {
  const row = await tx
    .updateTable('artifact_divergences')
    .set({ hash_count: sql<number>`hash_count` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function changeDivergence(
  tx: Tx,
  id: string,
  change: Partial<Omit<DivergenceRow, 'id' | 'scope' | 'name' | 'version' | 'variant' | 'algorithm'>>,
): Promise<void> {
  await tx.updateTable('artifact_divergences').set(change).where('id', '=', id).execute();
}

/** False when the hash is already listed. */
export async function insertHash(tx: Tx, row: HashRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('artifact_hashes')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function setHash(
  tx: Tx,
  { divergence_id, hash, standing, hosts }: Pick<HashRow, 'divergence_id' | 'hash' | 'standing' | 'hosts'>,
): Promise<void> {
  await tx
    .updateTable('artifact_hashes')
    .set({ standing, hosts })
    .where('divergence_id', '=', divergence_id)
    .where('hash', '=', hash)
    .execute();
}

/** Divergences of these names and versions, of every variant and kind of hash. */
export async function divergencesOf(db: Db, named: readonly Named[]): Promise<DivergenceRow[]> {
  const found: DivergenceRow[] = [];
  for (const { scope, part } of byScope(named)) {
    const rows = await db
      .selectFrom('artifact_divergences')
      .selectAll()
      .where('scope', '=', scope)
      .where('name', 'in', namesOf(part))
      .where('version', 'in', versionsOf(part))
      .execute();
    found.push(...rows);
  }
  return found;
}

/** The hashes of divergences, in the order of their first sighting. */
export async function hashesOf(db: Db, divergenceIds: readonly string[]): Promise<HashRow[]> {
  const found: HashRow[] = [];
  for (const some of chunks(divergenceIds)) {
    const rows = await db
      .selectFrom('artifact_hashes')
      .selectAll()
      .where('divergence_id', 'in', some)
      .orderBy('seen_at')
      .orderBy('hash')
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function insertDecision(tx: Tx, row: Unsealed<'artifact_decisions'>): Promise<void> {
  await tx
    .insertInto('artifact_decisions')
    .values(sealed(tx, 'artifact_decisions', row))
    .execute();
}

/** The decisions in force for these divergences. */
export async function decisionsInForce(
  db: Db,
  divergences: readonly Pick<DivergenceRow, 'decision_id'>[],
): Promise<DecisionRow[]> {
  const ids = divergences.flatMap(({ decision_id: id }) => id ?? []);
  const found: DecisionRow[] = [];
  for (const some of chunks(ids)) {
    const rows = await db.selectFrom('artifact_decisions').selectAll().where('id', 'in', some).execute();
    found.push(...rows.flatMap((row) => opened(db, 'artifact_decisions', row) ?? []));
  }
  return found;
}

export async function findDivergence(db: Db, id: string): Promise<DivergenceRow | null> {
  const query = db.selectFrom('artifact_divergences').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/** Newest first; `before` is the last id of the previous page. */
export async function listDivergences(
  db: Db,
  { state, limit, before }: { state: DivergenceRow['state'] | null; limit: number; before: string | null },
): Promise<DivergenceRow[]> {
  let query = db.selectFrom('artifact_divergences').selectAll();
  if (state !== null) query = query.where('state', '=', state);
  if (before !== null) query = query.where('id', '<', before);
  return query.orderBy('id', 'desc').limit(limit).execute();
}

export async function countDivergences(db: Db, state: DivergenceRow['state'] | null): Promise<number> {
  let query = db.selectFrom('artifact_divergences').select((e) => e.fn.countAll<number>().as('total'));
  if (state !== null) query = query.where('state', '=', state);
  return Number((await query.executeTakeFirstOrThrow()).total);
}
