import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Standing } from './divergence-rules.ts';
import type { ArtifactIdentity } from './identity-rules.ts';

export type ArtifactRow = Tables['artifacts'];
export type DivergenceRow = Tables['artifact_divergences'];
export type DivergentHashRow = Tables['artifact_divergent_hashes'];

type Named = Pick<ArtifactIdentity, 'scope' | 'name' | 'version'>;

/** First sightings of these names and versions, of every variant and kind of hash. */
export async function readArtifacts(db: Db, named: readonly Named[]): Promise<ArtifactRow[]> {
  const found: ArtifactRow[] = [];
  for (const { scope, part } of byScope(named)) {
    const rows = await db
      .selectFrom('artifacts')
      .selectAll()
      .where('scope', '=', scope)
      .where('name', 'in', namesOf(part))
      .where('version', 'in', versionsOf(part))
      .execute();
    found.push(...rows);
  }
  return found;
}

/** Keeps what was there: of two first sightings at once one is the first. Returns how many are new. */
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

/** Makes the divergence of an artifact unless it is there; either way its row is this transaction's from then on. */
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

/** Takes a divergence for this transaction: no hash joins it meanwhile. */
export async function lockDivergence(tx: Tx, id: string): Promise<DivergenceRow | null> {
  const row = await tx
    .updateTable('artifact_divergences')
    .set({ hash_count: sql<number>`hash_count` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** False where the hash is listed already. */
export async function insertDivergentHash(tx: Tx, row: DivergentHashRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('artifact_divergent_hashes')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function changeDivergence(
  tx: Tx,
  id: string,
  change: Partial<
    Pick<
      DivergenceRow,
      'state' | 'hash_count' | 'opened_at' | 'decided_at' | 'decided_by' | 'reason' | 'enforced_at'
    >
  >,
): Promise<void> {
  await tx.updateTable('artifact_divergences').set(change).where('id', '=', id).execute();
}

export async function setStanding(
  tx: Tx,
  { divergenceId, hash, standing }: { divergenceId: string; hash: string; standing: Standing },
): Promise<void> {
  await tx
    .updateTable('artifact_divergent_hashes')
    .set({ standing })
    .where('divergence_id', '=', divergenceId)
    .where('hash', '=', hash)
    .execute();
}

export async function hasDivergences(db: Db): Promise<boolean> {
  return (await db.selectFrom('artifact_divergences').select('id').limit(1).executeTakeFirst()) !== undefined;
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

/** The hashes of divergences, in the order in which they were seen. */
export async function hashesOf(db: Db, divergenceIds: readonly string[]): Promise<DivergentHashRow[]> {
  const found: DivergentHashRow[] = [];
  for (const some of chunks(divergenceIds)) {
    const rows = await db
      .selectFrom('artifact_divergent_hashes')
      .selectAll()
      .where('divergence_id', 'in', some)
      .orderBy('seen_at')
      .orderBy('hash')
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function findDivergence(db: Db, id: string): Promise<DivergenceRow | null> {
  const query = db.selectFrom('artifact_divergences').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/** Newest first; `before` is the id of the last row of the page before. */
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

/** Divergences that live approvals have not been held against since they changed. */
export async function unenforcedDivergences(db: Db, limit: number): Promise<DivergenceRow[]> {
  return db
    .selectFrom('artifact_divergences')
    .selectAll()
    .where('enforced_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Says so of a divergence that has not changed since: a hash that joined meanwhile is held against them next. */
export async function markEnforced(
  tx: Tx,
  {
    id,
    hashCount,
    decidedAtMs,
    nowMs,
  }: { id: string; hashCount: number; decidedAtMs: number | null; nowMs: number },
): Promise<void> {
  const query = tx
    .updateTable('artifact_divergences')
    .set({ enforced_at: nowMs })
    .where('id', '=', id)
    .where('hash_count', '=', hashCount);
  await (decidedAtMs === null
    ? query.where('decided_at', 'is', null)
    : query.where('decided_at', '=', decidedAtMs)
  ).execute();
}

function byScope(named: readonly Named[]): { scope: string; part: Named[] }[] {
  const scopes = Map.groupBy(named, ({ scope }) => scope);
  return [...scopes].flatMap(([scope, all]) => chunks(all).map((part) => ({ scope, part })));
}

function namesOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ name }) => name))];
}

function versionsOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ version }) => version))];
}
