import { sql } from 'kysely';
import type { Database, Db, SqlValue, Tx } from '../platform/db/engine.ts';
import type { Migration } from '../platform/db/migrate.ts';

/** The tables that migrations create, each after those it refers to; some may have been dropped. */
export function tablesOf(migrations: readonly Migration[]): string[] {
  const names = new Set<string>();
  for (const { statements } of migrations) {
    for (const statement of statements) {
      const text = typeof statement === 'string' ? statement : Object.values(statement).join(';');
      for (const [, name = ''] of text.matchAll(/\bCREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi)) names.add(name);
    }
  }
  return [...names];
}

/** The existing tables of the migrations, without dropped ones. */
export async function presentTables(db: Db, migrations: readonly Migration[]): Promise<string[]> {
  const names = new Set((await db.introspection.getTables()).map(({ name }) => name));
  return tablesOf(migrations).filter((name) => names.has(name));
}

/** A database's contents: `foreign` if it has unknown tables or a fleet lives in it. */
export async function contentOf(database: Database): Promise<'empty' | 'foreign'> {
  const tables = await database.read.introspection.getTables();
  const names = tables.filter(({ isView }) => !isView).map(({ name }) => name);
  if (names.length === 0) return 'empty';
  if (!names.includes('fleet')) return 'foreign';
  const fleet = await database.read.selectFrom('fleet').select('id').executeTakeFirst();
  return fleet ? 'foreign' : 'empty';
}

/** Drops the triggers that would change or refuse rows, and restores them after the work. */
export async function withoutTriggers<T>(
  tx: Tx,
  { engine, tables }: { engine: Database['engine']; tables: readonly string[] },
  work: () => Promise<T>,
): Promise<T> {
  if (engine === 'postgres') {
    const set = async (state: 'DISABLE' | 'ENABLE') => {
      for (const table of tables) {
        await sql`ALTER TABLE ${sql.table(table)} ${sql.raw(state)} TRIGGER USER`.execute(tx);
      }
    };
    await set('DISABLE');
    const result = await work();
    await set('ENABLE');
    return result;
  }
  const { rows } = await sql<{ name: string; sql: string }>`
    SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`.execute(tx);
  for (const { name } of rows) await sql`DROP TRIGGER ${sql.ref(name)}`.execute(tx);
  const result = await work();
  for (const trigger of rows) await sql.raw(trigger.sql).execute(tx);
  return result;
}

/** Removes the rows that migrations inserted into a table. */
export async function clearTable(tx: Tx, table: string): Promise<void> {
  await sql`DELETE FROM ${sql.table(table)}`.execute(tx);
}

/** Writes rows with one parameter: one per value takes far longer. */
export async function insertRows(
  tx: Tx,
  {
    engine,
    table,
    columns,
    rows,
  }: {
    engine: Database['engine'];
    table: string;
    columns: readonly string[];
    rows: readonly (readonly SqlValue[])[];
  },
): Promise<void> {
  const names = sql.join(columns.map((column) => sql.ref(column)));
  if (engine === 'sqlite') {
    const values = sql.join(columns.map((_, i) => sql`value ->> ${sql.lit(i)}`));
    await sql`INSERT INTO ${sql.table(table)} (${names})
      SELECT ${values} FROM json_each(${JSON.stringify(rows)})`.execute(tx);
    return;
  }
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));
  await sql`INSERT INTO ${sql.table(table)} (${names}) SELECT ${names}
    FROM json_populate_recordset(NULL::${sql.table(table)}, ${JSON.stringify(objects)}::json)`.execute(tx);
}

/** Deletes the servers and logins from the time of the backup. */
export async function forgetTheLiving(tx: Tx): Promise<void> {
  await tx.deleteFrom('server_instances').execute();
  await tx.deleteFrom('operator_sessions').execute();
}

/** SQLite's integrity fault of a freshly written database; null if it is sound. */
export async function faultOfSqlite(db: Db): Promise<string | null> {
  const { rows } = await sql<{ integrity_check: string }>`PRAGMA integrity_check(1)`.execute(db);
  const [found] = rows;
  if (found?.integrity_check !== 'ok') return found?.integrity_check ?? 'nothing was checked';
  const strays = await sql<{ table: string }>`PRAGMA foreign_key_check`.execute(db);
  return strays.rows[0] ? `a row of ${strays.rows[0].table} refers to one that is not there` : null;
}
