import { type RawBuilder, sql } from 'kysely';
import type { Database, Tx } from '../db/engine.ts';

/** The right to do work of one; it ends when another server has taken it, and not before. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
}

/** A time as an expression of the statement, so that servers whose clocks differ agree. */
export type SqlTime = RawBuilder<number>;

export interface LeaseTerms {
  readonly leaseMs: number;
  readonly now: SqlTime;
}

export function databaseTime(engine: Database['engine']): SqlTime {
  return engine === 'sqlite'
    ? sql<number>`CAST(unixepoch('subsec') * 1000 AS INTEGER)`
    : sql<number>`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`;
}

/**
 * Takes a lease that has expired, with the next epoch; null while another server has it. One that ends later than any
 * lease is from a clock that was set back. `isAlone`: a holder before this one has ended.
 */
export async function takeLease(
  tx: Tx,
  { name, holder, isAlone, leaseMs, now }: Pick<Lease, 'name' | 'holder'> & LeaseTerms & { isAlone: boolean },
): Promise<Lease | null> {
  const expires = sql<number>`${now} + ${sql.lit(leaseMs)}`;
  const taken = await tx
    .updateTable('leases')
    .set((e) => ({ holder, epoch: e('epoch', '+', 1), expires_at: expires }))
    .where('name', '=', name)
    .where((e) => (isAlone ? e.lit(true) : e.or([e('expires_at', '<=', now), e('expires_at', '>', expires)])))
    .returning('epoch')
    .executeTakeFirst();
  return taken ? { name, holder, epoch: taken.epoch } : null;
}

/** Whether a lease could be taken, without a write. */
export async function isLeaseFree(
  db: Pick<Tx, 'selectFrom'>,
  { name, leaseMs, now }: Pick<Lease, 'name'> & LeaseTerms,
): Promise<boolean> {
  const row = await db
    .selectFrom('leases')
    .select('epoch')
    .where('name', '=', name)
    .where((e) =>
      e.or([e('expires_at', '<=', now), e('expires_at', '>', sql<number>`${now} + ${sql.lit(leaseMs)}`)]),
    )
    .executeTakeFirst();
  return row !== undefined;
}

/** Keeps the lease for longer; false if another server has taken it. */
export async function renewLease(
  tx: Tx,
  { lease, leaseMs, now }: { lease: Lease } & LeaseTerms,
): Promise<boolean> {
  return setEnd(tx, lease, sql<number>`${now} + ${sql.lit(leaseMs)}`);
}

/** Lets another server take it at once. */
export async function endLease(tx: Tx, lease: Lease): Promise<void> {
  await setEnd(tx, lease, sql.lit(0));
}

async function setEnd(tx: Tx, { name, holder, epoch }: Lease, expires: SqlTime): Promise<boolean> {
  const result = await tx
    .updateTable('leases')
    .set({ expires_at: expires })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .where('epoch', '=', epoch)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Whether nobody has taken it since. Until the end of the transaction nobody can. */
export async function holdsLease(
  tx: Tx,
  { lease: { name, holder, epoch }, engine }: { lease: Lease; engine: Database['engine'] },
): Promise<boolean> {
  const query = tx
    .selectFrom('leases')
    .select('epoch')
    .where('name', '=', name)
    .where('holder', '=', holder)
    .where('epoch', '=', epoch);
  return (await (engine === 'postgres' ? query.forShare() : query).executeTakeFirst()) !== undefined;
}
