import type { PolicyReference } from '@tidegate/protocol/policies-api';
import { sql } from 'kysely';
import { PATIENCE_MS } from '../agents/patience-store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ApprovalRow = Tables['approvals'];

/** A token with the updates that it names. */
export interface NewApproval {
  readonly row: ApprovalRow;
  readonly updateIds: readonly string[];
}

export async function insertApprovals(tx: Tx, approvals: readonly NewApproval[]): Promise<void> {
  for (const some of chunks(approvals.map(({ row }) => row))) {
    await tx.insertInto('approvals').values(some).execute();
  }
  const members = approvals.flatMap(({ row: { token_id }, updateIds }) =>
    updateIds.map((update_id) => ({ token_id, update_id })),
  );
  for (const some of chunks(members)) await tx.insertInto('approval_updates').values(some).execute();
}

/** The live tokens that name one of these updates. */
export async function liveTokensOf(db: Db, updateIds: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const some of chunks(updateIds)) {
    const rows = await db
      .selectFrom('approval_updates')
      .select('token_id')
      .distinct()
      .where('update_id', 'in', some)
      .where('live', '=', 1)
      .execute();
    for (const { token_id } of rows) found.add(token_id);
  }
  return [...found];
}

export interface LiveSet {
  readonly tokenId: string;
  readonly approvedBy: string;
  /** The event of the bulk request that it came with; null: with none. */
  readonly bulkId: string | null;
  /** The policy that approved in that operator's name; null: the operator did. */
  readonly policy: PolicyReference | null;
  readonly updateIds: string[];
}

/** The live tokens that name one of these updates, each with all updates that it names. */
export async function liveSetsOf(db: Db, updateIds: readonly string[]): Promise<LiveSet[]> {
  const tokenIds = await liveTokensOf(db, updateIds);
  const found: (Pick<ApprovalRow, 'token_id' | 'approved_by' | 'policy_id' | 'policy_sha256' | 'bulk_id'> & {
    update_id: string;
  })[] = [];
  for (const some of chunks(tokenIds)) {
    const rows = await db
      .selectFrom('approval_updates as m')
      .innerJoin('approvals as a', 'a.token_id', 'm.token_id')
      .select(['a.token_id', 'a.approved_by', 'a.policy_id', 'a.policy_sha256', 'a.bulk_id', 'm.update_id'])
      .where('a.token_id', 'in', some)
      .orderBy('a.token_id')
      .orderBy('m.update_id')
      .execute();
    found.push(...rows);
  }
  return [...Map.groupBy(found, ({ token_id }) => token_id)].map(([tokenId, rows]) => {
    const { approved_by: approvedBy = '', policy_id = null, policy_sha256: sha256 = null } = rows[0] ?? {};
    const policy = policy_id === null || sha256 === null ? null : { policy_id, sha256 };
    const bulkId = rows[0]?.bulk_id ?? null;
    return { tokenId, approvedBy, policy, bulkId, updateIds: rows.map(({ update_id }) => update_id) };
  });
}

/** The updates that tokens name, in ascending order. */
export async function updatesOfTokens(db: Db, tokenIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(tokenIds)) {
    const rows = await db
      .selectFrom('approval_updates')
      .select('update_id')
      .where('token_id', 'in', some)
      .execute();
    found.push(...rows.map(({ update_id }) => update_id));
  }
  return [...new Set(found)].toSorted();
}

/** Voids tokens that are live; from then on no agent gets them, and their updates may have others. */
export async function voidTokens(
  tx: Tx,
  { tokenIds, reason, nowMs }: { tokenIds: readonly string[]; reason: string; nowMs: number },
): Promise<void> {
  for (const some of chunks(tokenIds)) {
    await tx
      .updateTable('approvals')
      .set({ voided_at: nowMs, void_reason: reason })
      .where('token_id', 'in', some)
      .where('voided_at', 'is', null)
      .execute();
    await tx.updateTable('approval_updates').set({ live: 0 }).where('token_id', 'in', some).execute();
  }
}

/** The signed token that a command names, as stored; whoever uses it must verify its signature. */
export async function storedApproval(
  db: Db,
  tokenId: string,
): Promise<Pick<Tables['approvals'], 'envelope' | 'key_id'> | null> {
  const query = db.selectFrom('approvals').select(['envelope', 'key_id']).where('token_id', '=', tokenId);
  return (await query.executeTakeFirst()) ?? null;
}

/** The live token of an update. */
export async function findApprovalOfUpdate(
  db: Db,
  { updateId, nowMs }: { updateId: string; nowMs: number },
): Promise<Pick<ApprovalRow, 'token_id' | 'agent_id' | 'envelope'> | null> {
  const row = await db
    .selectFrom('approval_updates as m')
    .innerJoin('approvals as a', 'a.token_id', 'm.token_id')
    .select(['a.token_id', 'a.agent_id', 'a.envelope'])
    .where('m.update_id', '=', updateId)
    .where('m.live', '=', 1)
    .where('a.expires_at', '>', nowMs)
    .executeTakeFirst();
  return row ?? null;
}

/** Adds a signature to a token: its payload, which commands name by digest, stays the same. */
export async function addApprovalSignature(
  tx: Tx,
  { tokenId, envelope }: { tokenId: string; envelope: string },
): Promise<void> {
  await tx.updateTable('approvals').set({ envelope }).where('token_id', '=', tokenId).execute();
}

/** A token for its agent: the agent's own, not void and not expired. */
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
 * Live tokens that have expired, or that were issued after `aheadMs`; null: no time is ahead. An expired one that a host may have
 * installed by is left out until the host had the time to say so: three of its intervals since its last word of the command,
 * during which the server listened. One statement that joins the tables of commands and hosts.
 */
export async function approvalsOutOfTime(
  db: Db,
  times: { nowMs: number; aheadMs: number | null; listeningSince: number; limit: number },
): Promise<ApprovalRow[]> {
  const { nowMs, aheadMs, listeningSince, limit } = times;
  const silentSince = sql<number>`${sql.lit(nowMs)} - ${PATIENCE_MS}`;
  const unheard = db
    .selectFrom('agent_commands as c')
    .innerJoin('agents as a', 'a.id', 'c.agent_id')
    .select('c.id')
    .where('c.agent_id', '=', sql.ref<string>('t.agent_id'))
    .where('c.approval_id', '=', sql.ref<string>('t.token_id'))
    .where('c.status', 'in', ['sent', 'received'])
    .where((e) => e.or([e('c.changed_at', '>', silentSince), e(sql.lit(listeningSince), '>', silentSince)]));
  return db
    .selectFrom('approvals as t')
    .selectAll('t')
    .where('t.voided_at', 'is', null)
    .where((e) =>
      e.or([
        e.and([e('t.expires_at', '<=', nowMs), e.not(e.exists(unheard))]),
        ...(aheadMs === null ? [] : [e('t.issued_at', '>', aheadMs)]),
      ]),
    )
    .orderBy('t.token_id')
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

/** Live approvals whose plan contains one of these hashes anywhere, by token; joins another slice's plans to read them once. */
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
/** Tokens that are not void, by id, also those that have expired. */
export async function liveApprovals(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('voided_at', 'is', null)
    .where('token_id', '>', after)
    .orderBy('token_id')
    .limit(limit)
    .execute();
}

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
