import type { Db } from './engine.ts';

/** The newest migration that was applied to this database; null where none ever was. Changes nothing. */
export async function schemaVersion(db: Db): Promise<number | null> {
  const tables = await db.introspection.getTables();
  if (!tables.some(({ name }) => name === 'schema_migrations')) return null;
  const row = await db
    .selectFrom('schema_migrations')
    .select((e) => e.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? null;
}
