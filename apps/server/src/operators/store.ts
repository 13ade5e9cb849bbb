import { FACTOR_METHODS, type FactorMethod } from '@tidegate/protocol/factors-api';
import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { noteRevocation } from '../platform/forward-facts.ts';

export type OperatorRow = Tables['operators'];
export type SessionRow = Tables['operator_sessions'];

export async function findOperator(db: Db, id: string): Promise<OperatorRow | null> {
  return (await db.selectFrom('operators').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

export async function findOperatorByName(db: Db, username: string): Promise<OperatorRow | null> {
  const query = db.selectFrom('operators').selectAll().where('username', '=', username.toLowerCase());
  return (await query.executeTakeFirst()) ?? null;
}

export async function countOperators(db: Db): Promise<number> {
  const row = await db
    .selectFrom('operators')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** By name; `after` is the name of the last operator of the page before. */
export async function listOperators(
  db: Db,
  { limit, after }: { limit: number; after: string | null },
): Promise<OperatorRow[]> {
  let query = db.selectFrom('operators').selectAll().orderBy('username').limit(limit);
  if (after !== null) query = query.where('username', '>', after);
  return query.execute();
}

/** False when the name is taken. */
export async function insertOperator(tx: Tx, row: OperatorRow): Promise<boolean> {
  const inserted = await tx
    .insertInto('operators')
    .values(row)
    .onConflict((conflict) => conflict.column('username').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function updateOperator(
  tx: Tx,
  id: string,
  set: Partial<Pick<OperatorRow, 'password_hash' | 'role' | 'groups' | 'disabled_at'>>,
): Promise<void> {
  await tx.updateTable('operators').set(set).where('id', '=', id).execute();
}

/** Sessions go with the operator. A restored backup must not let either in again. */
export async function deleteOperator(tx: Tx, { id, atMs }: { id: string; atMs: number }): Promise<void> {
  await tx.deleteFrom('operator_sessions').where('operator_id', '=', id).execute();
  const result = await tx.deleteFrom('operators').where('id', '=', id).executeTakeFirst();
  if (result.numDeletedRows === 1n) noteRevocation(tx, { kind: 'deleted_operator', id, atMs });
}

/** The admins who can change operators, bound to no groups; locks their rows, so that two changes at once cannot each spare the other's admin. */
export async function lockFleetAdmins(tx: Tx): Promise<string[]> {
  const rows = await tx
    .updateTable('operators')
    .set({ role: sql<'admin'>`role` })
    .where('role', '=', 'admin')
    .where('groups', 'is', null)
    .where('disabled_at', 'is', null)
    .returning('id')
    .execute();
  return rows.map((row) => row.id);
}

export async function insertSession(tx: Tx, row: SessionRow): Promise<void> {
  await tx.insertInto('operator_sessions').values(row).execute();
}

export type LiveSession = Pick<
  SessionRow,
  | 'csrf_hash'
  | 'created_at'
  | 'expires_at'
  | 'last_used_at'
  | 'second_factor_at'
  | 'password_at'
  | 'factor_due_at'
> &
  Pick<OperatorRow, 'id' | 'username' | 'role' | 'groups'> & {
    /** What the operator has enrolled. */
    factors: readonly FactorMethod[];
  };

/** The session with its operator, when neither has ended: read on every request, so that a logout counts at once. */
export async function findLiveSession(
  db: Db,
  {
    sessionId,
    operatorId,
    nowMs,
    idleMs,
  }: { sessionId: string; operatorId: string; nowMs: number; idleMs: number },
): Promise<LiveSession | null> {
  const row = await db
    .selectFrom('operator_sessions')
    .innerJoin('operators', 'operators.id', 'operator_sessions.operator_id')
    .select(['operators.id', 'operators.username', 'operators.role', 'operators.groups'])
    .select([
      'operator_sessions.csrf_hash',
      'operator_sessions.created_at',
      'operator_sessions.expires_at',
      'operator_sessions.last_used_at',
      'operator_sessions.second_factor_at',
      'operator_sessions.password_at',
      'operator_sessions.factor_due_at',
    ])
    .select((e) => [
      e
        .exists(
          e
            .selectFrom('operator_totp')
            .select('sealed_secret')
            .whereRef('operator_totp.operator_id', '=', 'operators.id')
            .where('confirmed_at', 'is not', null),
        )
        .as('has_totp'),
      e
        .exists(
          e
            .selectFrom('operator_passkeys')
            .select('name')
            .whereRef('operator_passkeys.operator_id', '=', 'operators.id'),
        )
        .as('has_passkey'),
      e
        .exists(
          e
            .selectFrom('operator_recovery_codes')
            .select('code_hash')
            .whereRef('operator_recovery_codes.operator_id', '=', 'operators.id')
            .where('used_at', 'is', null),
        )
        .as('has_recovery_code'),
    ])
    .where('operator_sessions.id', '=', sessionId)
    .where('operators.id', '=', operatorId)
    .where('operator_sessions.revoked_at', 'is', null)
    .where('operator_sessions.expires_at', '>', nowMs)
    .where('operators.disabled_at', 'is', null)
    .where(wasUsedSince(nowMs - idleMs))
    .executeTakeFirst();
  if (!row) return null;
  const { has_totp, has_passkey, has_recovery_code, ...session } = row;
  const has = { totp: has_totp, passkey: has_passkey, recovery_code: has_recovery_code };
  return { ...session, factors: FACTOR_METHODS.filter((method) => Boolean(has[method])) };
}

/** How exactly it is known when a session was last used, in milliseconds. */
export const SESSION_USE_STEP_MS = 60_000;

/** Condition on sessions: opened or used after that, as exactly as it is known. */
export function wasUsedSince(sinceMs: number) {
  return sql<boolean>`COALESCE(operator_sessions.last_used_at, operator_sessions.created_at) > ${sinceMs - SESSION_USE_STEP_MS}`;
}

export async function revokeSession(tx: Tx, id: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: nowMs })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute();
}

/**
 * Ends the sessions of an operator but the one that asks, and what was begun for it with a passkey. Answers how many
 * sessions there were.
 */
export async function revokeOtherSessions(
  tx: Tx,
  { operatorId, keptSessionId, nowMs }: { operatorId: string; keptSessionId: string; nowMs: number },
): Promise<number> {
  await tx.deleteFrom('passkey_challenges').where('operator_id', '=', operatorId).execute();
  const ended = await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: nowMs })
    .where('operator_id', '=', operatorId)
    .where('id', '!=', keptSessionId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning('id')
    .execute();
  return ended.length;
}

export async function deleteExpiredSessions(tx: Tx, nowMs: number): Promise<void> {
  await tx.deleteFrom('operator_sessions').where('expires_at', '<=', nowMs).execute();
}

export async function insertSetupLink(tx: Tx, row: Tables['setup_links']): Promise<void> {
  await tx.insertInto('setup_links').values(row).execute();
}

export async function isSetupLinkOpen(
  db: Db,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('setup_links')
    .select('id')
    .where('secret_hash', '=', secretHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Uses up every open link at once and tells whether this one was among them: of two links used in the same moment
 * one finds nothing left.
 */
export async function useSetupLinks(
  tx: Tx,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<boolean> {
  const used = await tx
    .updateTable('setup_links')
    .set({ used_at: nowMs })
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning('secret_hash')
    .execute();
  return used.some((row) => row.secret_hash === secretHash);
}
