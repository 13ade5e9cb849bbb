import type { Db, Tx } from '../../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../../platform/db/row-seals.ts';

export type IdentityRow = Opened<'operator_identities'>;
export type ProviderSessionRow = Opened<'provider_sessions'>;

/** Names an account of a provider: issuer and subject, and nothing that an account may change. */
export interface Account {
  providerId: string;
  issuer: string;
  subject: string;
}

export async function findIdentity(
  db: Db,
  { providerId, issuer, subject }: Account,
): Promise<IdentityRow | null> {
  const row = await db
    .selectFrom('operator_identities')
    .selectAll()
    .where('provider_id', '=', providerId)
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return opened(db, 'operator_identities', row);
}

/** The accounts of an operator, oldest first; the list is as short as the callers of `insertIdentity` keep it. */
export async function listIdentities(db: Db, operatorId: string): Promise<IdentityRow[]> {
  const rows = await db
    .selectFrom('operator_identities')
    .selectAll()
    .where('operator_id', '=', operatorId)
    .orderBy('id')
    .execute();
  return rows.flatMap((row) => opened(db, 'operator_identities', row) ?? []);
}

/** How many operators each provider logs in. */
export async function countIdentities(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('operator_identities')
    .select((e) => ['provider_id', e.fn.count<number>('operator_id').distinct().as('n')])
    .groupBy('provider_id')
    .execute();
  return new Map(rows.map(({ provider_id, n }) => [provider_id, Number(n)]));
}

/** Null when the account logs somebody in already. */
export async function insertIdentity(
  tx: Tx,
  row: Unsealed<'operator_identities'>,
): Promise<IdentityRow | null> {
  const inserted = await tx
    .insertInto('operator_identities')
    .values(sealed(tx, 'operator_identities', row))
    .onConflict((conflict) => conflict.columns(['provider_id', 'issuer', 'subject']).doNothing())
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operator_identities', inserted);
}

/** Records a sign-in, or the loss of access; the transaction must have locked the operator. */
export async function updateIdentity(
  tx: Tx,
  before: IdentityRow,
  set: Partial<Pick<IdentityRow, 'last_used_at' | 'lost_at'>>,
): Promise<void> {
  const { seal } = sealed(tx, 'operator_identities', { ...before, ...set });
  await tx
    .updateTable('operator_identities')
    .set({ ...set, seal })
    .where('id', '=', before.id)
    .execute();
}

/** Null when the operator has no such account. */
export async function deleteIdentity(
  tx: Tx,
  { id, operatorId }: { id: string; operatorId: string },
): Promise<Unsealed<'operator_identities'> | null> {
  const row = await tx
    .deleteFrom('operator_identities')
    .where('id', '=', id)
    .where('operator_id', '=', operatorId)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Deletes all accounts of an operator; returns how many. */
export async function deleteIdentities(tx: Tx, operatorId: string): Promise<number> {
  const result = await tx
    .deleteFrom('operator_identities')
    .where('operator_id', '=', operatorId)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

export async function insertProviderSession(tx: Tx, row: Unsealed<'provider_sessions'>): Promise<void> {
  await tx
    .insertInto('provider_sessions')
    .values(sealed(tx, 'provider_sessions', row))
    .execute();
}

export async function findProviderSession(db: Db, sessionId: string): Promise<ProviderSessionRow | null> {
  const query = db.selectFrom('provider_sessions').selectAll().where('session_id', '=', sessionId);
  return opened(db, 'provider_sessions', await query.executeTakeFirst());
}

/** Ends the live sessions that a provider opened: all, those of an account, or those of its session there. */
export async function endProviderSessions(
  tx: Tx,
  of: { providerId: string; issuer?: string; subject?: string; providerSid?: string; nowMs: number },
): Promise<{ operatorId: string; sessionId: string }[]> {
  let matching = tx
    .selectFrom('provider_sessions')
    .select('session_id')
    .where('provider_id', '=', of.providerId);
  if (of.issuer !== undefined) matching = matching.where('issuer', '=', of.issuer);
  if (of.subject !== undefined) matching = matching.where('subject', '=', of.subject);
  if (of.providerSid !== undefined) matching = matching.where('provider_sid', '=', of.providerSid);
  const ended = await tx
    .updateTable('operator_sessions')
    .set({ revoked_at: of.nowMs, seal: null })
    .where('id', 'in', matching)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', of.nowMs)
    .returning(['id', 'operator_id'])
    .execute();
  return ended.map(({ id, operator_id }) => ({ operatorId: operator_id, sessionId: id }));
}

/** Operators with an account of this provider. */
export async function operatorsOf(db: Db, providerId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('operator_identities')
    .select('operator_id')
    .distinct()
    .where('provider_id', '=', providerId)
    .execute();
  return rows.map(({ operator_id }) => operator_id);
}
