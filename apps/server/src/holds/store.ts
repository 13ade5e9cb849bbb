import { HoldRequest } from '@tidegate/protocol/holds-api';
import type { Selectable } from 'kysely';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { HoldInForce } from './hold-rules.ts';

/** Who ends a hold that reaches its end. */
const SERVER = 'server';

export type HoldRow = Selectable<Tables['holds']>;

const { ecosystems: Ecosystems, packages: Packages, scope: Scope } = HoldRequest.properties;

export async function insertHold(tx: Tx, row: HoldRow): Promise<void> {
  await tx.insertInto('holds').values(row).execute();
}

/** Ends a hold; null when there is none, or it has ended. */
export async function endHold(
  tx: Tx,
  { id, by, nowMs }: { id: string; by: string; nowMs: number },
): Promise<HoldRow | null> {
  const row = await tx
    .updateTable('holds')
    .set({ ended_at: nowMs, ended_by: by })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Holds past their end whose end is not recorded yet, by id. */
export async function expiredHolds(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('holds')
    .select('id')
    .where('ended_at', 'is', null)
    .where('ends_at', '<=', nowMs)
    .orderBy('ends_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export async function findHold(db: Db, id: string): Promise<HoldRow | null> {
  return (await db.selectFrom('holds').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Newest first, also ended ones; `after` is the last id of the previous page. */
export async function listHolds(
  db: Db,
  { limit, after }: { limit: number; after: string | null },
): Promise<HoldRow[]> {
  const query = db.selectFrom('holds').selectAll();
  const page = after === null ? query : query.where('id', '<', after);
  return page.orderBy('id', 'desc').limit(limit).execute();
}

export async function countHolds(db: Db): Promise<number> {
  const row = await db
    .selectFrom('holds')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Those whose end is in this time: the one that was set, or that of their release. */
export async function holdsEndingIn(
  db: Db,
  { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
): Promise<HoldRow[]> {
  return db
    .selectFrom('holds')
    .selectAll()
    .where(({ eb, or, and }) =>
      or([
        and([
          eb('ends_at', '>=', fromMs),
          eb('ends_at', '<', toMs),
          or([eb('ended_at', 'is', null), eb('ended_by', '=', SERVER)]),
        ]),
        and([eb('ended_at', '>=', fromMs), eb('ended_at', '<', toMs), eb('ended_by', '!=', SERVER)]),
      ]),
    )
    .orderBy('ends_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** All that are in force, oldest first. Throws on a row that the server did not write. */
export async function holdsInForce(db: Db, nowMs: number): Promise<HoldInForce[]> {
  const rows = await db
    .selectFrom('holds')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('ends_at', '>', nowMs)
    .orderBy('id')
    .execute();
  return rows.map(holdOf);
}

export function holdOf({ id, ecosystems, packages, scope, reason, ends_at: endsAtMs }: HoldRow): HoldInForce {
  return {
    ...{ id, reason, endsAtMs },
    ecosystems: Value.Parse(Ecosystems, JSON.parse(ecosystems)),
    packages: Value.Parse(Packages, JSON.parse(packages)),
    scope: Value.Parse(Scope, JSON.parse(scope)),
  };
}

/** Holds in force whose earlier approvals have not been withdrawn yet. */
export async function unenforcedHolds(db: Db, nowMs: number): Promise<HoldInForce[]> {
  const rows = await db
    .selectFrom('holds')
    .selectAll()
    .where('ended_at', 'is', null)
    .where('ends_at', '>', nowMs)
    .where('enforced_at', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map(holdOf);
}

export async function markEnforced(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  await tx.updateTable('holds').set({ enforced_at: nowMs }).where('id', '=', id).execute();
}

/** An approval that the withdrawal passed by, because it was written meanwhile, has the hold looked at once more. */
export async function enforceAgain(tx: Tx, ids: readonly string[]): Promise<void> {
  for (const some of chunks([...new Set(ids)])) {
    await tx.updateTable('holds').set({ enforced_at: null }).where('id', 'in', some).execute();
  }
}
