import { FACTOR_METHODS, type FactorMethod } from '@tidegate/protocol/factors-api';
import { type SqlBool, sql } from 'kysely';
import type { Covered } from '../platform/db/create-row-seals.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { containing } from '../platform/db/like.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import { hasPassword, NO_PASSWORD } from './passwords/no-password.ts';

export type OperatorRow = Opened<'operators'>;
export type SessionRow = Opened<'operator_sessions'>;

export async function findOperator(db: Db, id: string): Promise<OperatorRow | null> {
  const query = db.selectFrom('operators').selectAll().where('id', '=', id);
  return opened(db, 'operators', await query.executeTakeFirst());
}

/** Like `findOperator`, with the row locked until the transaction ends: the next seal covers what is stored then. */
export async function lockOperator(tx: Tx, id: string): Promise<OperatorRow | null> {
  const locked = await tx
    .updateTable('operators')
    .set({ created_at: sql<number>`created_at` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operators', locked);
}

export async function findOperatorByName(db: Db, username: string): Promise<OperatorRow | null> {
  const query = db.selectFrom('operators').selectAll().where('username', '=', username.toLowerCase());
  return opened(db, 'operators', await query.executeTakeFirst());
}

/** Counts rows with broken seals too: breaking every seal must not open the set-up. */
export async function countOperators(db: Db, part = ''): Promise<number> {
  const row = await db
    .selectFrom('operators')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where(isNamedLike(part))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** By name; `after` is the last name of the previous page, `part` is what each name has in it. */
export async function listOperators(
  db: Db,
  { limit, after, part = '' }: { limit: number; after: string | null; part?: string | undefined },
): Promise<OperatorRow[]> {
  return listOpened(db, 'operators', {
    ...{ limit, after, keyOf: ({ username }) => username },
    page(last) {
      const named = db.selectFrom('operators').selectAll().where(isNamedLike(part));
      const query = named.orderBy('username').limit(limit);
      return (last === null ? query : query.where('username', '>', last)).execute();
    },
  });
}

/** Names are stored in lower case. */
function isNamedLike(part: string) {
  return sql<SqlBool>`username LIKE ${containing(part)} ESCAPE '\\'`;
}

/** The names of these operators, by id. */
export async function operatorNames(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('operators').selectAll().where('id', 'in', ids).execute();
  return new Map(
    rows.flatMap((row) => {
      const operator = opened(db, 'operators', row);
      return operator ? [[operator.id, operator.username] as const] : [];
    }),
  );
}

/** Null when the name is taken. */
export async function insertOperator(tx: Tx, row: Unsealed<'operators'>): Promise<OperatorRow | null> {
  const inserted = await tx
    .insertInto('operators')
    .values(sealed(tx, 'operators', row))
    .onConflict((conflict) => conflict.column('username').doNothing())
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operators', inserted);
}

/** The transaction must have locked the row. Returns its new state. */
export async function updateOperator(
  tx: Tx,
  before: OperatorRow,
  set: Partial<Pick<OperatorRow, 'password_hash' | 'role' | 'groups' | 'disabled_at'>>,
): Promise<OperatorRow> {
  const after = { ...before, ...set };
  const { seal } = sealed(tx, 'operators', after);
  await tx
    .updateTable('operators')
    .set({ ...set, seal })
    .where('id', '=', before.id)
    .execute();
  return after;
}

/** Deletes the sessions too. A restored backup must not let either in again. */
export async function deleteOperator(tx: Tx, { id, atMs }: { id: string; atMs: number }): Promise<void> {
  await tx.deleteFrom('operator_sessions').where('operator_id', '=', id).execute();
  const result = await tx.deleteFrom('operators').where('id', '=', id).executeTakeFirst();
  if (result.numDeletedRows === 1n) tx.context.revocations.push({ kind: 'deleted_operator', id, atMs });
}

/**
 * Unbound admins with a password: they can change operators, whatever happens to an identity provider. Locks their rows,
 * so that two changes cannot remove both of two admins.
 */
export async function lockFleetAdmins(tx: Tx): Promise<string[]> {
  const rows = await tx
    .updateTable('operators')
    .set({ role: sql<'admin'>`role` })
    .where('role', '=', 'admin')
    .where('groups', 'is', null)
    .where('disabled_at', 'is', null)
    .where('password_hash', '!=', NO_PASSWORD)
    .returningAll()
    .execute();
  return rows.flatMap((row) => opened(tx, 'operators', row)?.id ?? []);
}

export async function insertSession(tx: Tx, row: Unsealed<'operator_sessions'>): Promise<void> {
  await tx
    .insertInto('operator_sessions')
    .values(sealed(tx, 'operator_sessions', row))
    .execute();
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
  | 'method'
> &
  Pick<OperatorRow, 'id' | 'username' | 'role' | 'groups'> & {
    /** What the operator has enrolled. */
    factors: readonly FactorMethod[];
    hasPassword: boolean;
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
    .selectAll('operator_sessions')
    .select(COVERED_OPERATOR)
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
  const session = opened(db, 'operator_sessions', row);
  const operator = row ? opened(db, 'operators', operatorOf(row)) : null;
  if (!session || !operator) return null;
  const { csrf_hash, created_at, expires_at, last_used_at } = session;
  const { second_factor_at, password_at, factor_due_at, method } = session;
  const { id, username, role, groups } = operator;
  const has = {
    totp: session.has_totp,
    passkey: session.has_passkey,
    recovery_code: session.has_recovery_code,
  };
  const factors = FACTOR_METHODS.filter((method) => Boolean(has[method]));
  return {
    ...{ csrf_hash, created_at, expires_at, last_used_at, second_factor_at, password_at, factor_due_at },
    ...{ method, id, username, role, groups, factors, hasPassword: hasPassword(operator) },
  };
}

/** The columns under an operator's seal, for reads that join the table. */
export const COVERED_OPERATOR = [
  'operators.id as o_id',
  'operators.username as o_username',
  'operators.password_hash as o_password_hash',
  'operators.role as o_role',
  'operators.groups as o_groups',
  'operators.created_at as o_created_at',
  'operators.disabled_at as o_disabled_at',
  'operators.seal as o_seal',
] as const;

export function operatorOf(row: {
  o_id: string;
  o_username: string;
  o_password_hash: string;
  o_role: OperatorRow['role'];
  o_groups: string | null;
  o_created_at: number;
  o_disabled_at: number | null;
  o_seal: string | null;
}): Covered<'operators'> & { seal: string | null } {
  return {
    ...{ id: row.o_id, username: row.o_username, password_hash: row.o_password_hash, role: row.o_role },
    ...{ groups: row.o_groups, created_at: row.o_created_at, disabled_at: row.o_disabled_at },
    seal: row.o_seal,
  };
}

/** Resolution of a session's last use, in milliseconds. */
export const SESSION_USE_STEP_MS = 60_000;

/** Condition on sessions: opened or used after this, within that resolution. */
export function wasUsedSince(sinceMs: number) {
  return sql<boolean>`COALESCE(operator_sessions.last_used_at, operator_sessions.created_at) > ${sinceMs - SESSION_USE_STEP_MS}`;
}

export async function revokeSession(tx: Tx, id: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: nowMs, seal: null })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute();
}

/**
 * Ends an operator's sessions except the caller's, and their open passkey challenges. Returns the number of sessions.
 */
export async function revokeOtherSessions(
  tx: Tx,
  { operatorId, keptSessionId, nowMs }: { operatorId: string; keptSessionId: string; nowMs: number },
): Promise<number> {
  await tx.deleteFrom('passkey_challenges').where('operator_id', '=', operatorId).execute();
  const ended = await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: nowMs, seal: null })
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

export async function insertSetupLink(tx: Tx, row: Unsealed<'setup_links'>): Promise<void> {
  await tx
    .insertInto('setup_links')
    .values(sealed(tx, 'setup_links', row))
    .execute();
}

export async function isSetupLinkOpen(
  db: Db,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('setup_links')
    .selectAll()
    .where('secret_hash', '=', secretHash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .executeTakeFirst();
  return opened(db, 'setup_links', row) !== null;
}

/**
 * Uses up all open links and says whether this one was among them: when two links are used at once, the second gets
 * false.
 */
export async function useSetupLinks(
  tx: Tx,
  { secretHash, nowMs }: { secretHash: string; nowMs: number },
): Promise<boolean> {
  if (!(await isSetupLinkOpen(tx, { secretHash, nowMs }))) return false;
  const used = await tx
    .updateTable('setup_links')
    .set({ used_at: nowMs, seal: null })
    .where('used_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .returning('secret_hash')
    .execute();
  return used.some((row) => row.secret_hash === secretHash);
}
