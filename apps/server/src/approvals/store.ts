import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ApprovalRow = Tables['approvals'];
export type AgeExceptionRow = Opened<'age_exceptions'>;

export async function insertApprovals(tx: Tx, rows: readonly ApprovalRow[]): Promise<void> {
  for (const some of chunks(rows)) await tx.insertInto('approvals').values(some).execute();
}

/** Voids the live tokens of updates, where they have one: no agent is given it from then on. */
export async function voidLiveApprovals(
  tx: Tx,
  { updateIds, reason, nowMs }: { updateIds: readonly string[]; reason: string; nowMs: number },
): Promise<void> {
  for (const some of chunks(updateIds)) {
    await tx
      .updateTable('approvals')
      .set({ voided_at: nowMs, void_reason: reason })
      .where('update_id', 'in', some)
      .where('voided_at', 'is', null)
      .execute();
  }
}

/** The token of an update that still counts. */
export async function findApprovalOfUpdate(
  db: Db,
  { updateId, nowMs }: { updateId: string; nowMs: number },
): Promise<Pick<ApprovalRow, 'token_id' | 'agent_id' | 'envelope'> | null> {
  const row = await db
    .selectFrom('approvals')
    .select(['token_id', 'agent_id', 'envelope'])
    .where('update_id', '=', updateId)
    .where('voided_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return row ?? null;
}

/** The same token under one more signature: its payload, which commands name by digest, stays as it is. */
export async function addApprovalSignature(
  tx: Tx,
  { tokenId, envelope }: { tokenId: string; envelope: string },
): Promise<void> {
  await tx.updateTable('approvals').set({ envelope }).where('token_id', '=', tokenId).execute();
}

/** The token that an agent may have: its own, not void and not expired. */
export async function findLiveApproval(
  db: Db,
  { tokenId, agentId, nowMs }: { tokenId: string; agentId: string; nowMs: number },
): Promise<ApprovalRow | null> {
  const row = await db
    .selectFrom('approvals')
    .selectAll()
    .where('token_id', '=', tokenId)
    .where('agent_id', '=', agentId)
    .where('voided_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Approvals of an agent that it was given by a command and that are void since, the last issued first. Commands are
 * asked first: each approval has one, and those of one agent are few.
 */
export async function deliveredVoidApprovals(
  db: Db,
  { agentId, expiresAfterMs, limit }: { agentId: string; expiresAfterMs: number; limit: number },
): Promise<Pick<ApprovalRow, 'token_id' | 'issued_at'>[]> {
  return db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select(['a.token_id', 'a.issued_at'])
    .distinct()
    .where('c.agent_id', '=', agentId)
    .where('c.sent_at', 'is not', null)
    .where('a.voided_at', 'is not', null)
    .where('a.expires_at', '>', expiresAfterMs)
    .orderBy('a.issued_at', 'desc')
    .orderBy('a.token_id')
    .limit(limit)
    .execute();
}

export async function expiredApprovals(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('voided_at', 'is', null)
    .where('expires_at', '<=', nowMs)
    .orderBy('token_id')
    .limit(limit)
    .execute();
}

/** The keys that signed live tokens. */
export async function keysOfLiveApprovals(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('approvals')
    .select('key_id')
    .distinct()
    .where('voided_at', 'is', null)
    .execute();
  return rows.map(({ key_id }) => key_id);
}

export async function liveApprovalsOfKeys(
  db: Db,
  { keyIds, limit }: { keyIds: readonly string[]; limit: number },
): Promise<ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('voided_at', 'is', null)
    .where('key_id', 'in', keyIds)
    .orderBy('token_id')
    .limit(limit)
    .execute();
}

/** Live approvals whose plan names one of these hashes anywhere, by token; a plan is another slice's, joined to read it once. */
export async function liveApprovalsNaming(
  db: Db,
  { hashes, after, limit }: { hashes: readonly string[]; after: string; limit: number },
): Promise<ApprovalRow[]> {
  return db
    .selectFrom('approvals as a')
    .innerJoin('update_plans as p', 'p.id', 'a.plan_id')
    .selectAll('a')
    .where('a.voided_at', 'is', null)
    .where('a.token_id', '>', after)
    .where((e) => e.or(hashes.map((hash) => e('p.actions', 'like', `%${hash}%`))))
    .orderBy('a.token_id')
    .limit(limit)
    .execute();
}

/** Live approvals of one host, by token. */
export async function liveApprovalsOfAgent(
  db: Db,
  { agentId, after, limit }: { agentId: string; after: string; limit: number },
): Promise<ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('voided_at', 'is', null)
    .where('token_id', '>', after)
    .orderBy('token_id')
    .limit(limit)
    .execute();
}

/** Updates that wait for their plan, by id. */
export async function awaitingUpdates(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('updates')
    .select('id')
    .where('state', '=', 'awaiting_plan')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export async function insertAgeException(tx: Tx, row: Unsealed<'age_exceptions'>): Promise<AgeExceptionRow> {
  const values = sealed(tx, 'age_exceptions', row);
  const inserted = await tx.insertInto('age_exceptions').values(values).returningAll().executeTakeFirst();
  const exception = opened(tx, 'age_exceptions', inserted);
  if (!exception) throw new Error('an age exception that was just sealed does not open');
  return exception;
}

/** Ends an exception; null where there is none, or somebody ended it first. One that is refused is ended too. */
export async function deleteAgeException(
  tx: Tx,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<Unsealed<'age_exceptions'> | null> {
  const row = await tx
    .updateTable('age_exceptions')
    .set({ deleted_at: nowMs, seal: null })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function findAgeException(db: Db, id: string): Promise<AgeExceptionRow | null> {
  const query = db.selectFrom('age_exceptions').selectAll().where('id', '=', id);
  return opened(db, 'age_exceptions', await query.where('deleted_at', 'is', null).executeTakeFirst());
}

/** Newest first, with the expired ones; `before` is the id of the last row of the page before. */
export async function listAgeExceptions(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<AgeExceptionRow[]> {
  return listOpened(db, 'age_exceptions', {
    ...{ limit, after: before, keyOf: ({ id }) => id },
    page(last) {
      const query = db.selectFrom('age_exceptions').selectAll().where('deleted_at', 'is', null);
      const page = last === null ? query : query.where('id', '<', last);
      return page.orderBy('id', 'desc').limit(limit).execute();
    },
  });
}

export async function countAgeExceptions(db: Db): Promise<number> {
  const row = await db
    .selectFrom('age_exceptions')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Exceptions in force for versions of an ecosystem. */
export async function liveAgeExceptions(
  db: Db,
  { ecosystem, versions, nowMs }: { ecosystem: string; versions: readonly string[]; nowMs: number },
): Promise<Pick<AgeExceptionRow, 'name' | 'version'>[]> {
  const found: Pick<AgeExceptionRow, 'name' | 'version'>[] = [];
  for (const some of chunks([...new Set(versions)])) {
    const rows = await db
      .selectFrom('age_exceptions')
      .selectAll()
      .where('ecosystem', '=', ecosystem)
      .where('version', 'in', some)
      .where('deleted_at', 'is', null)
      .where('expires_at', '>', nowMs)
      .execute();
    found.push(...rows.flatMap((row) => opened(db, 'age_exceptions', row) ?? []));
  }
  return found;
}
