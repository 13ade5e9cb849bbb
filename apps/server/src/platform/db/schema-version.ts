import type { Db } from './engine.ts';

/** The version of the newest migration of this database; null if it has none. Changes nothing. */
export async function schemaVersion(db: Db): Promise<number | null> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_migrations')) return null;
  return newestMigration(db);
}

/** The same, of a database that has the table of its migrations. */
export async function newestMigration(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('schema_migrations')
    .select((e) => e.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? null;
}
