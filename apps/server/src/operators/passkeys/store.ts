import type { Db, Tx } from '../../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../../platform/db/row-seals.ts';

export type PasskeyRow = Opened<'operator_passkeys'>;
export type ChallengeRow = Opened<'passkey_challenges'>;

/** Oldest first; the limit per operator bounds the list. */
export async function listPasskeys(db: Db, operatorId: string): Promise<PasskeyRow[]> {
  const rows = await db
    .selectFrom('operator_passkeys')
    .selectAll()
    .where('operator_id', '=', operatorId)
    .orderBy('id')
    .execute();
  return rows.flatMap((row) => opened(db, 'operator_passkeys', row) ?? []);
}

export async function findPasskeyByCredential(db: Db, credentialId: string): Promise<PasskeyRow | null> {
  const query = db.selectFrom('operator_passkeys').selectAll().where('credential_id', '=', credentialId);
  return opened(db, 'operator_passkeys', await query.executeTakeFirst());
}

/** Null when the credential is already registered, by any operator. */
export async function insertPasskey(tx: Tx, row: Unsealed<'operator_passkeys'>): Promise<PasskeyRow | null> {
  const inserted = await tx
    .insertInto('operator_passkeys')
    .values(sealed(tx, 'operator_passkeys', row))
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operator_passkeys', inserted);
}

/**
 * Compare-and-swap: false when the count has not risen, or the passkey is gone. An authenticator that does not count
 * always reports 0 (WebAuthn, section 6.1.1).
 */
export async function advanceSignCount(
  tx: Tx,
  used: { id: string; signCount: number; backedUp: boolean; nowMs: number },
): Promise<boolean> {
  const taken = await tx
    .updateTable('operator_passkeys')
    .set({ sign_count: used.signCount, backed_up: used.backedUp ? 1 : 0, last_used_at: used.nowMs })
    .where('id', '=', used.id)
    .where((e) => (used.signCount === 0 ? e('sign_count', '=', 0) : e('sign_count', '<', used.signCount)))
    .returning('id')
    .executeTakeFirst();
  return taken !== undefined;
}

/** Null when the operator has no such passkey. */
export async function renamePasskey(
  tx: Tx,
  { id, operatorId, name }: { id: string; operatorId: string; name: string },
): Promise<PasskeyRow | null> {
  const renamed = await tx
    .updateTable('operator_passkeys')
    .set({ name })
    .where('id', '=', id)
    .where('operator_id', '=', operatorId)
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operator_passkeys', renamed);
}

/** Null when the operator has no such passkey; a row with a broken seal is deleted too. */
export async function deletePasskey(
  tx: Tx,
  { id, operatorId }: { id: string; operatorId: string },
): Promise<Unsealed<'operator_passkeys'> | null> {
  const deleted = await tx
    .deleteFrom('operator_passkeys')
    .where('id', '=', id)
    .where('operator_id', '=', operatorId)
    .returningAll()
    .executeTakeFirst();
  return deleted ?? null;
}

export async function deletePasskeys(tx: Tx, operatorId: string): Promise<number> {
  const deleted = await tx
    .deleteFrom('operator_passkeys')
    .where('operator_id', '=', operatorId)
    .returning('id')
    .execute();
  return deleted.length;
}

export async function insertChallenge(tx: Tx, row: Unsealed<'passkey_challenges'>): Promise<ChallengeRow> {
  const values = sealed(tx, 'passkey_challenges', row);
  const inserted = await tx.insertInto('passkey_challenges').values(values).returningAll().executeTakeFirst();
  const challenge = opened(tx, 'passkey_challenges', inserted);
  if (!challenge) throw new Error('a newly sealed challenge does not open');
  return challenge;
}

/** An open challenge for these purposes in this session (null: not logged in). */
export async function findChallenge(
  db: Db,
  asked: Pick<ChallengeRow, 'id' | 'session_id'> & {
    purposes: readonly ChallengeRow['purpose'][];
    nowMs: number;
  },
): Promise<ChallengeRow | null> {
  const query = db
    .selectFrom('passkey_challenges')
    .selectAll()
    .where('id', '=', asked.id)
    .where('session_id', asked.session_id === null ? 'is' : '=', asked.session_id)
    .where('purpose', 'in', asked.purposes)
    .where('expires_at', '>', asked.nowMs);
  return opened(db, 'passkey_challenges', await query.executeTakeFirst());
}

/** Uses it up: when two requests answer one challenge at once, the second gets false. */
export async function useChallenge(tx: Tx, { id }: Pick<ChallengeRow, 'id'>): Promise<boolean> {
  const taken = await tx
    .deleteFrom('passkey_challenges')
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return taken !== undefined;
}

export async function deleteExpiredChallenges(tx: Tx, nowMs: number): Promise<void> {
  await tx.deleteFrom('passkey_challenges').where('expires_at', '<=', nowMs).execute();
}

export async function countChallenges(tx: Tx): Promise<number> {
  const row = await tx
    .selectFrom('passkey_challenges')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Keeps an operator's newest challenges and deletes the others. */
export async function keepNewestChallenges(
  tx: Tx,
  { operatorId, kept }: { operatorId: string; kept: number },
): Promise<void> {
  const newest = tx
    .selectFrom('passkey_challenges')
    .select('id')
    .where('operator_id', '=', operatorId)
    .orderBy('id', 'desc')
    .limit(kept);
  await tx
    .deleteFrom('passkey_challenges')
    .where('operator_id', '=', operatorId)
    .where('id', 'not in', newest)
    .execute();
}
