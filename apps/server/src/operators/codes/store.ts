import type { SecondFactor } from '@tidegate/protocol/factors-api';
import { sql } from 'kysely';
import { chunks } from '../../platform/db/chunks.ts';
import type { Db, Tx } from '../../platform/db/engine.ts';
import { type Opened, opened, sealed, type Unsealed } from '../../platform/db/row-seals.ts';

export type TotpRow = Opened<'operator_totp'>;

export async function findTotp(db: Db, operatorId: string): Promise<TotpRow | null> {
  const query = db.selectFrom('operator_totp').selectAll().where('operator_id', '=', operatorId);
  return opened(db, 'operator_totp', await query.executeTakeFirst());
}

/** Like `findTotp`, with the row locked until the transaction ends: concurrent guesses queue. */
export async function lockTotp(tx: Tx, operatorId: string): Promise<TotpRow | null> {
  const locked = await tx
    .updateTable('operator_totp')
    .set({ failures: sql<number>`failures` })
    .where('operator_id', '=', operatorId)
    .returningAll()
    .executeTakeFirst();
  return opened(tx, 'operator_totp', locked);
}

/** Starts enrolment again; false when an app is already confirmed, which stays. */
export async function beginTotp(tx: Tx, row: Unsealed<'operator_totp'>): Promise<boolean> {
  const values = sealed(tx, 'operator_totp', row);
  const { operator_id: _, ...set } = values;
  const begun = await tx
    .insertInto('operator_totp')
    .values(values)
    .onConflict((conflict) =>
      conflict.column('operator_id').doUpdateSet(set).where('operator_totp.confirmed_at', 'is', null),
    )
    .returning('operator_id')
    .executeTakeFirst();
  return begun !== undefined;
}

/** Compare-and-swap: false when it was confirmed or restarted in the meantime. */
export async function confirmTotp(
  tx: Tx,
  { row, step, nowMs }: { row: TotpRow; step: number; nowMs: number },
): Promise<boolean> {
  const { seal } = sealed(tx, 'operator_totp', { ...row, confirmed_at: nowMs });
  const confirmed = await tx
    .updateTable('operator_totp')
    .set({ confirmed_at: nowMs, last_step: step, failures: 0, last_failed_at: null, seal })
    .where('operator_id', '=', row.operator_id)
    .where('sealed_secret', '=', row.sealed_secret)
    .where('confirmed_at', 'is', null)
    .returning('operator_id')
    .executeTakeFirst();
  return confirmed !== undefined;
}

/** Compare-and-swap: a step is accepted once, and then no earlier step (RFC 6238, section 5.2). */
export async function useTotpStep(
  tx: Tx,
  { operatorId, step }: { operatorId: string; step: number },
): Promise<boolean> {
  const taken = await tx
    .updateTable('operator_totp')
    .set({ last_step: step, failures: 0, last_failed_at: null })
    .where('operator_id', '=', operatorId)
    .where('confirmed_at', 'is not', null)
    .where('last_step', '<', step)
    .returning('operator_id')
    .executeTakeFirst();
  return taken !== undefined;
}

export async function countTotpFailure(
  tx: Tx,
  { operatorId, nowMs }: { operatorId: string; nowMs: number },
): Promise<void> {
  await tx
    .updateTable('operator_totp')
    .set({ failures: sql<number>`failures + 1`, last_failed_at: nowMs })
    .where('operator_id', '=', operatorId)
    .execute();
}

/** False when none was in use; an unconfirmed one is deleted too. */
export async function deleteTotp(tx: Tx, operatorId: string): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('operator_totp')
    .where('operator_id', '=', operatorId)
    .returning('confirmed_at')
    .executeTakeFirst();
  return deleted !== undefined && deleted.confirmed_at !== null;
}

/** Replaces all of the operator's codes. */
export async function replaceRecoveryCodes(
  tx: Tx,
  { operatorId, hashes, nowMs }: { operatorId: string; hashes: readonly string[]; nowMs: number },
): Promise<void> {
  await deleteRecoveryCodes(tx, operatorId);
  const rows = hashes.map((hash) =>
    sealed(tx, 'operator_recovery_codes', {
      ...{ operator_id: operatorId, code_hash: hash, created_at: nowMs, used_at: null },
    }),
  );
  await tx.insertInto('operator_recovery_codes').values(rows).execute();
}

export async function deleteRecoveryCodes(tx: Tx, operatorId: string): Promise<void> {
  await tx.deleteFrom('operator_recovery_codes').where('operator_id', '=', operatorId).execute();
}

/** Compare-and-swap: when two requests use one code at once, the second gets false. */
export async function useRecoveryCode(
  tx: Tx,
  { operatorId, hash, nowMs }: { operatorId: string; hash: string; nowMs: number },
): Promise<boolean> {
  const stored = await tx
    .selectFrom('operator_recovery_codes')
    .selectAll()
    .where('operator_id', '=', operatorId)
    .where('code_hash', '=', hash)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  if (!opened(tx, 'operator_recovery_codes', stored)) return false;
  const used = await tx
    .updateTable('operator_recovery_codes')
    .set({ used_at: nowMs, seal: null })
    .where('operator_id', '=', operatorId)
    .where('code_hash', '=', hash)
    .where('used_at', 'is', null)
    .returning('code_hash')
    .executeTakeFirst();
  return used !== undefined;
}

export interface FactorCounts {
  totp: boolean;
  passkeys: number;
  recoveryCodesLeft: number;
}

/** Factors that are enrolled and confirmed. */
export async function countFactors(db: Db, operatorId: string): Promise<FactorCounts> {
  const row = await db
    .selectNoFrom((e) => [
      e
        .selectFrom('operator_totp')
        .select((f) => f.fn.countAll<number>().as('n'))
        .where('operator_id', '=', operatorId)
        .where('confirmed_at', 'is not', null)
        .as('totp'),
      e
        .selectFrom('operator_passkeys')
        .select((f) => f.fn.countAll<number>().as('n'))
        .where('operator_id', '=', operatorId)
        .as('passkeys'),
      e
        .selectFrom('operator_recovery_codes')
        .select((f) => f.fn.countAll<number>().as('n'))
        .where('operator_id', '=', operatorId)
        .where('used_at', 'is', null)
        .as('codes'),
    ])
    .executeTakeFirstOrThrow();
  return {
    totp: Number(row.totp) > 0,
    passkeys: Number(row.passkeys),
    recoveryCodesLeft: Number(row.codes),
  };
}

/** Second factors by operator id; operators without one are absent. */
export async function factorsOf(
  db: Db,
  operatorIds: readonly string[],
): Promise<ReadonlyMap<string, readonly SecondFactor[]>> {
  const found = new Map<string, SecondFactor[]>();
  for (const ids of chunks(operatorIds)) {
    const rows = await db
      .selectFrom('operator_totp')
      .select(['operator_id', sql<SecondFactor>`'totp'`.as('factor')])
      .where('operator_id', 'in', ids)
      .where('confirmed_at', 'is not', null)
      .unionAll(
        db
          .selectFrom('operator_passkeys')
          .select(['operator_id', sql<SecondFactor>`'passkey'`.as('factor')])
          .distinct()
          .where('operator_id', 'in', ids),
      )
      .execute();
    for (const { operator_id: id, factor } of rows) found.set(id, [...(found.get(id) ?? []), factor]);
  }
  return found;
}
