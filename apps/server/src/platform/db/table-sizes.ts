import { sql } from 'kysely';
import type { Database, Db } from './engine.ts';

/** Rows counted of one table; more are told as this number. */
const ROWS_MAX = 1_000_000;
const VALUES_MAX = 50;

/** The rows of each table, counted on SQLite up to a million and estimated on PostgreSQL, and bytes where known. */
export async function tableSizes({
  engine,
  read,
}: Pick<Database, 'engine' | 'read'>): Promise<Record<string, { rows: number; bytes: number | null }>> {
  if (engine === 'postgres') {
    const { rows } = await sql<{ name: string; rows: number; bytes: number }>`
      SELECT relname AS name, n_live_tup::int8 AS rows, pg_total_relation_size(relid)::int8 AS bytes
      FROM pg_stat_user_tables ORDER BY relname`.execute(read);
    return Object.fromEntries(rows.map(({ name, rows: count, bytes }) => [name, { rows: count, bytes }]));
  }
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`.execute(
    read,
  );
  const counted: Record<string, { rows: number; bytes: null }> = {};
  for (const { name } of rows) {
    const some = sql`SELECT 1 FROM ${sql.table(name)} LIMIT ${ROWS_MAX}`;
    const found = await sql<{ count: number }>`SELECT count(*) AS count FROM (${some}) AS some`.execute(read);
    counted[name] = { rows: Number(found.rows[0]?.count ?? 0), bytes: null };
  }
  return counted;
}

/** How many rows have each value of a column; for columns with few values, such as a state. */
export async function countByValue(
  read: Db,
  { table, column }: { table: string; column: string },
): Promise<Record<string, number>> {
  const name = sql.ref(column);
  const { rows } = await sql<{ value: string; count: number }>`
    SELECT ${name} AS value, count(*) AS count FROM ${sql.table(table)} GROUP BY ${name} LIMIT ${VALUES_MAX}`.execute(
    read,
  );
  return Object.fromEntries(rows.map(({ value, count }) => [value, Number(count)]));
}
