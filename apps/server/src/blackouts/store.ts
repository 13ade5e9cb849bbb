import { BlackoutTimes } from '@tidegate/protocol/blackouts-api';
import { PolicyScope } from '@tidegate/protocol/policies-api';
import { type Selectable, sql } from 'kysely';
import { Check } from 'typebox/value';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Blackout } from './blackout-rules.ts';

export type BlackoutRow = Selectable<Tables['blackouts']>;
/** One that withholds, or will. */
export type LiveBlackout = Blackout & { readonly id: string };

export async function insertBlackout(tx: Tx, row: BlackoutRow): Promise<void> {
  await tx.insertInto('blackouts').values(row).execute();
}

/** Ends a blackout; null when there is none of this id, or it has ended. */
export async function endBlackout(
  tx: Tx,
  end: { id: string; by: string; reason: string; nowMs: number },
): Promise<BlackoutRow | null> {
  const row = await tx
    .updateTable('blackouts')
    .set({ ended_at: end.nowMs, ended_by: end.by, end_reason: end.reason })
    .where('id', '=', end.id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Frees the name of one that is over without anybody having ended it. */
export async function endOverBlackouts(tx: Tx, nowMs: number): Promise<void> {
  await tx
    .updateTable('blackouts')
    .set((e) => ({ ended_at: e.ref('over_at') }))
    .where('ended_at', 'is', null)
    .where('over_at', '<=', nowMs)
    .execute();
}

export async function findBlackout(db: Db, id: string): Promise<BlackoutRow | null> {
  return (await db.selectFrom('blackouts').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Newest first, also ended ones; `after` is the last id of the previous page. */
export async function listBlackouts(
  db: Db,
  { limit, after }: { limit: number; after: string | null },
): Promise<BlackoutRow[]> {
  const query = db.selectFrom('blackouts').selectAll();
  const page = after === null ? query : query.where('id', '<', after);
  return page.orderBy('id', 'desc').limit(limit).execute();
}

export async function countBlackouts(db: Db): Promise<number> {
  const row = await db
    .selectFrom('blackouts')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** All that withhold at this time or will, oldest first. */
export async function liveBlackouts(db: Db, nowMs: number): Promise<LiveBlackout[]> {
  const rows = await db
    .selectFrom('blackouts')
    .selectAll()
    .where('ended_at', 'is', null)
    .where(({ eb, or }) => or([eb('over_at', 'is', null), eb('over_at', '>', nowMs)]))
    .orderBy('id')
    .execute();
  return rows.map(contentOf);
}

/** Those that could withhold in this time: the ended ones last. */
export async function blackoutsIn(
  db: Db,
  { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
): Promise<BlackoutRow[]> {
  return db
    .selectFrom('blackouts')
    .selectAll()
    .where('created_at', '<', toMs)
    .where(({ eb, or }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', fromMs)]))
    .where(({ eb, or }) => or([eb('over_at', 'is', null), eb('over_at', '>=', fromMs)]))
    .orderBy(sql`CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END`)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Throws on a row that the server did not write. */
export function contentOf({ id, name, scope, times }: BlackoutRow): LiveBlackout {
  const content: unknown = { scope: JSON.parse(scope), times: JSON.parse(times) };
  if (!isContent(content))
    throw new Error(`the row of the blackout ${id} is not one that this server writes`);
  return { id, name, ...content };
}

function isContent(value: unknown): value is Pick<Blackout, 'scope' | 'times'> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'scope' in value &&
    'times' in value &&
    Check(PolicyScope, value.scope) &&
    Check(BlackoutTimes, value.times)
  );
}
