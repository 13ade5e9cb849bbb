import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type DistrustRow = Tables['artifact_distrusts'];

export async function findDistrust(db: Db, agentId: string): Promise<DistrustRow | null> {
  const query = db.selectFrom('artifact_distrusts').selectAll().where('agent_id', '=', agentId);
  return (await query.executeTakeFirst()) ?? null;
}

export async function distrustsOf(db: Db, agentIds: readonly string[]): Promise<Map<string, DistrustRow>> {
  const found = new Map<string, DistrustRow>();
  for (const some of chunks([...new Set(agentIds)])) {
    const rows = await db
      .selectFrom('artifact_distrusts')
      .selectAll()
      .where('agent_id', 'in', some)
      .execute();
    for (const row of rows) found.set(row.agent_id, row);
  }
  return found;
}

/** Sets a host aside; false when it is already. */
export async function insertDistrust(
  tx: Tx,
  { agentId, role, nowMs }: { agentId: string; role: DistrustRow['role']; nowMs: number },
): Promise<boolean> {
  const lifted = { lifted_at: null, lifted_by: null, reason: null, noted_at: null };
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('artifact_distrusts')
    .values({ agent_id: agentId, since: nowMs, role, ...lifted })
    .onConflict((conflict) =>
      conflict
        .column('agent_id')
        .doUpdateSet({ since: nowMs, role, ...lifted })
        .where('artifact_distrusts.lifted_at', 'is not', null),
    )
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Compare-and-swap: false when the host is not set aside. */
export async function liftDistrust(
  tx: Tx,
  { agentId, nowMs, actor, reason }: { agentId: string; nowMs: number; actor: string; reason: string },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('artifact_distrusts')
    .set({ lifted_at: nowMs, lifted_by: actor, reason })
    .where('agent_id', '=', agentId)
    .where('lifted_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Whether anything in the ledger is in doubt: an artifact with two hashes, or a host that was ever set aside. */
export async function hasDoubts(db: Db): Promise<boolean> {
  const { rows } = await sql<{ doubt: number }>`SELECT 1 AS doubt WHERE
    EXISTS (SELECT 1 FROM artifact_divergences) OR EXISTS (SELECT 1 FROM artifact_distrusts)`.execute(db);
  return rows.length > 0;
}

/** A host that is trusted again and whose plans are not in the ledger yet. */
export async function nextTrusted(db: Db): Promise<DistrustRow | null> {
  const row = await db
    .selectFrom('artifact_distrusts')
    .selectAll()
    .where('lifted_at', 'is not', null)
    .where('noted_at', 'is', null)
    .orderBy('lifted_at')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** Marks a host's plans as recorded, unless it was meanwhile set aside, and perhaps trusted again. */
export async function markRecorded(
  tx: Tx,
  { agentId, liftedAtMs, nowMs }: { agentId: string; liftedAtMs: number; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('artifact_distrusts')
    .set({ noted_at: nowMs })
    .where('agent_id', '=', agentId)
    .where('lifted_at', '=', liftedAtMs)
    .execute();
}

export async function insertContests(
  tx: Tx,
  { newcomer, opponents, nowMs }: { newcomer: string; opponents: readonly string[]; nowMs: number },
): Promise<void> {
  for (const some of chunks(opponents)) {
    await tx
      .insertInto('artifact_contests')
      .values(some.map((opponent) => ({ opponent, newcomer, contested_at: nowMs })))
      .onConflict((conflict) =>
        conflict.columns(['opponent', 'newcomer']).doUpdateSet({ contested_at: nowMs }),
      )
      .execute();
  }
}

/** Those of these hosts that this many others have contested since then; only present hosts count. */
export async function contestedBy(
  db: Db,
  args: { opponents: readonly string[]; atLeast: number; sinceMs: number },
): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(args.opponents)) {
    const rows = await db
      .selectFrom('artifact_contests as c')
      .innerJoin('agents as a', 'a.id', 'c.newcomer')
      .select('c.opponent')
      .where('c.opponent', 'in', some)
      .where('c.contested_at', '>', args.sinceMs)
      .where('a.status', '=', 'active')
      .where('a.deleted_at', 'is', null)
      .groupBy('c.opponent')
      .having((e) => e.fn.countAll(), '>=', args.atLeast)
      .execute();
    found.push(...rows.map(({ opponent }) => opponent));
  }
  return found.toSorted();
}

/** Hosts that are set aside because they contradicted this one. */
export async function newcomersAgainst(db: Db, opponent: string): Promise<string[]> {
  const rows = await db
    .selectFrom('artifact_contests as c')
    .innerJoin('artifact_distrusts as d', 'd.agent_id', 'c.newcomer')
    .select('c.newcomer')
    .where('c.opponent', '=', opponent)
    .where('d.role', '=', 'newcomer')
    .where('d.lifted_at', 'is', null)
    .orderBy('c.newcomer')
    .execute();
  return rows.map(({ newcomer }) => newcomer);
}

export async function opponentsOfNewcomer(db: Db, newcomer: string): Promise<string[]> {
  const rows = await db
    .selectFrom('artifact_contests')
    .select('opponent')
    .where('newcomer', '=', newcomer)
    .execute();
  return rows.map(({ opponent }) => opponent);
}

export interface SetAsideRow {
  readonly agent_id: string;
  readonly hostname: string;
  readonly role: DistrustRow['role'];
  readonly since: number;
}

function setAsideOf(db: Db, only: string | null) {
  const query = db
    .selectFrom('artifact_distrusts as d')
    .innerJoin('agents as a', 'a.id', 'd.agent_id')
    .where('d.lifted_at', 'is', null)
    .where('a.deleted_at', 'is', null);
  return only === null ? query : query.where('d.agent_id', '=', only);
}

/** Hosts that are set aside, by id; `only` selects a single one. */
export async function listSetAside(
  db: Db,
  { after, only, limit }: { after: string; only: string | null; limit: number },
): Promise<SetAsideRow[]> {
  return setAsideOf(db, only)
    .select(['d.agent_id', 'a.hostname', 'd.role', 'd.since'])
    .where('d.agent_id', '>', after)
    .orderBy('d.agent_id')
    .limit(limit)
    .execute();
}

export async function countSetAside(db: Db, only: string | null): Promise<number> {
  const query = setAsideOf(db, only).select((e) => e.fn.countAll<number>().as('total'));
  return Number((await query.executeTakeFirstOrThrow()).total);
}
