import { sql } from 'kysely';
import type { Db, Tx } from '../../platform/db/engine.ts';
import { listOpened, opened, sealed, type Unsealed } from '../../platform/db/row-seals.ts';
import { type SessionRow, wasUsedSince } from '../store.ts';

interface Live {
  /** Null: of every operator. */
  readonly operatorId: string | null;
  readonly nowMs: number;
  readonly idleMs: number;
}

/** Live sessions, newest first; `before` is the last id of the previous page. */
export async function listSessions(
  db: Db,
  asked: Live & { limit: number; before: string | null },
): Promise<SessionRow[]> {
  return listOpened(db, 'operator_sessions', {
    ...{ limit: asked.limit, after: asked.before, keyOf: ({ id }) => id },
    page(before) {
      const query = liveOf(db, asked).selectAll().orderBy('id', 'desc').limit(asked.limit);
      return (before === null ? query : query.where('id', '<', before)).execute();
    },
  });
}

export async function countSessions(db: Db, of: Live): Promise<number> {
  const row = await liveOf(db, of)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Operators with an open session, also one that is idle. */
export async function operatorsLoggedIn(db: Db, nowMs: number): Promise<string[]> {
  const rows = await db
    .selectFrom('operator_sessions')
    .select('operator_id')
    .distinct()
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .orderBy('operator_id')
    .execute();
  return rows.map(({ operator_id }) => operator_id);
}

function liveOf(db: Db, { operatorId, nowMs, idleMs }: Live) {
  const live = db
    .selectFrom('operator_sessions')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs)
    .where(wasUsedSince(nowMs - idleMs));
  return operatorId === null ? live : live.where('operator_id', '=', operatorId);
}

/** Compare-and-swap: null when it had already ended, or belongs to another operator (null: any operator). */
export async function endSession(
  tx: Tx,
  { id, operatorId, nowMs }: { id: string; operatorId: string | null; nowMs: number },
): Promise<Unsealed<'operator_sessions'> | null> {
  let query = tx
    .updateTable('operator_sessions')
    .set({ revoked_at: nowMs, seal: null })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs);
  if (operatorId !== null) query = query.where('operator_id', '=', operatorId);
  return (await query.returningAll().executeTakeFirst()) ?? null;
}

/** Records the use of a session, unless that was recorded after `unlessAfterMs`. */
export async function touchSession(
  tx: Tx,
  { id, nowMs, unlessAfterMs }: { id: string; nowMs: number; unlessAfterMs: number },
): Promise<void> {
  await tx
    .updateTable('operator_sessions')
    .set({ last_used_at: nowMs })
    .where('id', '=', id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<=', unlessAfterMs)]))
    .execute();
}

/**
 * Records a proof in this session. False when it has ended; until the transaction ends, nobody else can end it.
 */
export async function markProven(
  tx: Tx,
  {
    id,
    proven,
  }: {
    id: string;
    proven: Partial<Pick<SessionRow, 'second_factor_at' | 'password_at' | 'password_is_long'>>;
  },
): Promise<boolean> {
  const locked = await lockedSessions(tx)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  const session = opened(tx, 'operator_sessions', locked);
  if (!session) return false;
  await setProofs(tx, session, proven);
  return true;
}

function lockedSessions(tx: Tx) {
  const unchanged = { created_at: sql<number>`created_at` };
  return tx.updateTable('operator_sessions').set(unchanged).returningAll();
}

/** The transaction must have locked the session's row. */
async function setProofs(
  tx: Tx,
  session: SessionRow,
  proven: Partial<Pick<SessionRow, 'second_factor_at' | 'password_at' | 'password_is_long'>>,
): Promise<void> {
  const { seal } = sealed(tx, 'operator_sessions', { ...session, ...proven });
  await tx
    .updateTable('operator_sessions')
    .set({ ...proven, seal })
    .where('id', '=', session.id)
    .execute();
}

/** Locks a session's row until the transaction ends; false when the session has ended. */
export async function lockLiveSession(tx: Tx, id: string): Promise<boolean> {
  const locked = await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: null })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return locked !== undefined;
}

/** Clears all proofs of an operator's sessions, and drops their open passkey challenges. */
export async function forgetProofs(
  tx: Tx,
  { operatorId, keptSessionId }: { operatorId: string; keptSessionId: string },
): Promise<void> {
  await tx.deleteFrom('passkey_challenges').where('operator_id', '=', operatorId).execute();
  const locked = await lockedSessions(tx)
    .where('operator_id', '=', operatorId)
    .where('id', '!=', keptSessionId)
    .where('revoked_at', 'is', null)
    .execute();
  for (const row of locked) {
    const session = opened(tx, 'operator_sessions', row);
    if (session) await setProofs(tx, session, { second_factor_at: null, password_at: null });
  }
}

/** Whether the last password proven in this session is long enough alone; null when unknown. */
export async function isPasswordLong(tx: Tx, id: string): Promise<boolean | null> {
  const row = await tx
    .selectFrom('operator_sessions')
    .select('password_is_long')
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined || row.password_is_long === null ? null : row.password_is_long === 1;
}

/** When this operator was first required to have a second factor; records it the first time. */
export async function recordFactorDemand(
  tx: Tx,
  { operatorId, nowMs }: { operatorId: string; nowMs: number },
): Promise<number> {
  await tx
    .insertInto('operator_factor_demands')
    .values({ operator_id: operatorId, since: nowMs })
    .onConflict((conflict) => conflict.column('operator_id').doNothing())
    .execute();
  const row = await tx
    .selectFrom('operator_factor_demands')
    .select('since')
    .where('operator_id', '=', operatorId)
    .executeTakeFirstOrThrow();
  return row.since;
}
