import { sql } from 'kysely';
import type { Database, SqlValue } from '../platform/db/engine.ts';

/** Inserts a row as somebody does who has the database and nothing else of the server. */
export async function writeRaw(
  database: Database,
  table: string,
  row: Readonly<Record<string, SqlValue>>,
): Promise<void> {
  const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
  const values = sql.join(Object.values(row).map((value) => sql`${value}`));
  await database.transact((tx) =>
    sql`INSERT INTO ${sql.table(table)} (${columns}) VALUES (${values})`.execute(tx),
  );
}
