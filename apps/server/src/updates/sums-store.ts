import { sql } from 'kysely';
import type { Database, Tx } from '../platform/db/engine.ts';
import { SUMMED } from './package-store.ts';

/** Differences folded per transaction. */
export const SUMS_CHUNK = 5_000;
/** Key of the folder's advisory lock; any number. */
const LOCK_KEY = 7_434_171;
const COLUMNS = {
  columns: sql.join(SUMMED.map((column) => sql.ref(column))),
  sums: sql.join(SUMMED.map((column) => sql`sum(${sql.ref(column)}) AS ${sql.ref(column)}`)),
  added: sql.join(
    SUMMED.map(
      (column) => sql`${sql.ref(column)} = package_sums.${sql.ref(column)} + excluded.${sql.ref(column)}`,
    ),
  ),
};

/** Folds all remaining differences, on either engine; nobody else may write meanwhile. */
export async function foldAll(tx: Tx): Promise<void> {
  const { columns, sums, added } = COLUMNS;
  await sql`INSERT INTO package_sums (ecosystem, name, version, ${columns})
    SELECT ecosystem, name, version, ${sums} FROM package_deltas GROUP BY ecosystem, name, version
    ON CONFLICT (ecosystem, name, version) DO UPDATE SET ${added}`.execute(tx);
  await sql`DELETE FROM package_deltas`.execute(tx);
}

/** Returns how many differences it folded; none if another replica is folding. */
export async function foldSums(database: Database): Promise<number> {
  return database.transact(async (tx) => {
    const lock = await sql<{
      got: boolean;
    }>`SELECT pg_try_advisory_xact_lock(${sql.lit(LOCK_KEY)}) AS got`.execute(tx);
    if (lock.rows[0]?.got !== true) return 0;
    const { columns, sums, added } = COLUMNS;
    const { rows } = await sql<{ folded: number }>`WITH taken AS (
        DELETE FROM package_deltas WHERE id IN (SELECT id FROM package_deltas ORDER BY id LIMIT ${sql.lit(SUMS_CHUNK)})
        RETURNING *),
      folded AS (
        INSERT INTO package_sums (ecosystem, name, version, ${columns})
        SELECT ecosystem, name, version, ${sums} FROM taken GROUP BY ecosystem, name, version
        ON CONFLICT (ecosystem, name, version) DO UPDATE SET ${added})
      SELECT count(*) AS folded FROM taken`.execute(tx);
    return Number(rows[0]?.folded ?? 0);
  });
}
