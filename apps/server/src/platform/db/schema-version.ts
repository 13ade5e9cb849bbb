import type { Db } from './engine.ts';

/** The version of the newest migration of this database; null if it has none. Changes nothing. */
export async function schemaVersion(db: Db): Promise<number | null> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_migrations')) return null;
  const row = await db
    .selectFrom('schema_migrations')
    .select((e) => e.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? null;
}
