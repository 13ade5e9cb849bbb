import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type DecisionRow = Tables['decisions'];

/** A decision with the updates that it is about. */
export interface NewDecision {
  readonly row: DecisionRow;
  readonly updateIds: readonly string[];
}

export async function insertDecisions(tx: Tx, decisions: readonly NewDecision[]): Promise<void> {
  for (const some of chunks(decisions.map(({ row }) => row))) {
    await tx.insertInto('decisions').values(some).execute();
  }
  const members = decisions.flatMap(({ row: { id, outcome }, updateIds }) =>
    updateIds.map((update_id) => ({ decision_id: id, update_id, stopped: outcome === 'minted' ? 0 : 1 })),
  );
  for (const some of chunks(members)) await tx.insertInto('decision_updates').values(some).execute();
}

type NewestDecision = Pick<DecisionRow, 'id' | 'fingerprint' | 'document_sha256'>;

/** The newest decision about each set that has one, by the set's digest. */
export async function newestDecisions(db: Db, sets: readonly string[]): Promise<Map<string, NewestDecision>> {
  const found = new Map<string, NewestDecision>();
  for (const some of chunks(sets)) {
    const newest = db
      .selectFrom('decisions')
      .select((e) => e.fn.max('id').as('id'))
      .where('set_sha256', 'in', some)
      .groupBy('set_sha256');
    const rows = await db
      .selectFrom('decisions')
      .select(['id', 'set_sha256', 'fingerprint', 'document_sha256'])
      .where('id', 'in', newest)
      .execute();
    for (const row of rows) found.set(row.set_sha256, row);
  }
  return found;
}

/** Those of these sets with more decisions than this. */
export async function crowdedSets(
  db: Db,
  { sets, most }: { sets: readonly string[]; most: number },
): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(sets)) {
    const rows = await db
      .selectFrom('decisions')
      .select('set_sha256')
      .where('set_sha256', 'in', some)
      .groupBy('set_sha256')
      .having((e) => e.fn.countAll(), '>', most)
      .execute();
    found.push(...rows.map(({ set_sha256 }) => set_sha256));
  }
  return found;
}

export async function repeatDecision(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  await tx
    .updateTable('decisions')
    .set({ repeats: sql<number>`repeats + 1`, repeated_at: nowMs })
    .where('id', '=', id)
    .execute();
}

/** Deletes decisions older than a set's newest `keep`, except those that minted a token. */
export async function dropDecisions(
  tx: Tx,
  { setSha256, keep }: { setSha256: string; keep: number },
): Promise<void> {
  const [oldest] = await tx
    .selectFrom('decisions')
    .select('id')
    .where('set_sha256', '=', setSha256)
    .orderBy('id', 'desc')
    .offset(keep)
    .limit(1)
    .execute();
  if (!oldest) return;
  await tx
    .deleteFrom('decisions')
    .where('set_sha256', '=', setSha256)
    .where('id', '<=', oldest.id)
    .where('outcome', '!=', 'minted')
    .execute();
}

export async function findDecision(db: Db, id: string): Promise<DecisionRow | null> {
  return (await db.selectFrom('decisions').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** The decision about an update that minted a token. */
export async function decisionOfToken(
  db: Db,
  { updateId, tokenId }: { updateId: string; tokenId: string },
): Promise<DecisionRow | null> {
  const row = await db
    .selectFrom('decision_updates as m')
    .innerJoin('decisions as d', 'd.id', 'm.decision_id')
    .selectAll('d')
    .where('m.update_id', '=', updateId)
    .where('d.token_id', '=', tokenId)
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** The decisions about an update, newest first; `before` is the last id of the previous page. */
export async function listDecisions(
  db: Db,
  { updateId, limit, before }: { updateId: string; limit: number; before: string | null },
): Promise<DecisionRow[]> {
  let query = db
    .selectFrom('decision_updates as m')
    .innerJoin('decisions as d', 'd.id', 'm.decision_id')
    .selectAll('d')
    .where('m.update_id', '=', updateId);
  if (before !== null) query = query.where('m.decision_id', '<', before);
  return query.orderBy('m.decision_id', 'desc').limit(limit).execute();
}

export async function countDecisions(db: Db, updateId: string): Promise<number> {
  const row = await db
    .selectFrom('decision_updates')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('update_id', '=', updateId)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}
