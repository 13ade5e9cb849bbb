import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ClientErrorRow = Tables['client_errors'];

export interface ClientErrorFilter {
  severity?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
}

/** Limits of the newest errors that are kept. */
export const KEPT_ROWS_MAX = 10_000;
export const KEPT_BYTES_MAX = 32 * 1_048_576;

export async function insertClientError(tx: Tx, row: ClientErrorRow): Promise<void> {
  await tx.insertInto('client_errors').values(row).execute();
}

/** Ids are in order of time; `after` is the last id of the previous page. */
export async function listClientErrors(
  db: Db,
  args: { filter: ClientErrorFilter; descending: boolean; limit: number; after: string | null },
): Promise<ClientErrorRow[]> {
  const { filter, descending, limit, after } = args;
  let query = filtered(db, filter).selectAll().limit(limit);
  if (after !== null) query = query.where('id', descending ? '<' : '>', after);
  return query.orderBy('id', descending ? 'desc' : 'asc').execute();
}

export async function countClientErrors(db: Db, filter: ClientErrorFilter): Promise<number> {
  const query = filtered(db, filter).select((e) => e.fn.countAll<number>().as('total'));
  return Number((await query.executeTakeFirstOrThrow()).total);
}

export async function findClientError(db: Db, id: string): Promise<ClientErrorRow | null> {
  const query = db.selectFrom('client_errors').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/** Removes the oldest errors past the limits. Returns how many were removed. */
export async function pruneClientErrors(
  tx: Tx,
  { rows, bytes }: { rows: number; bytes: number },
): Promise<number> {
  const removed = await sql`DELETE FROM client_errors WHERE id IN (
    SELECT id FROM (
      SELECT id, row_number() OVER (ORDER BY id DESC) AS place, sum(bytes) OVER (ORDER BY id DESC) AS size
      FROM client_errors) AS placed
    WHERE place > ${rows} OR size > ${bytes})`.execute(tx);
  return Number(removed.numAffectedRows ?? 0);
}

function filtered(db: Db, { severity, sinceMs, untilMs }: ClientErrorFilter) {
  let query = db.selectFrom('client_errors');
  if (severity !== undefined) query = query.where('severity', '=', severity);
  if (sinceMs !== undefined) query = query.where('created_at', '>=', sinceMs);
  if (untilMs !== undefined) query = query.where('created_at', '<', untilMs);
  return query;
}
