import { sql } from 'kysely';
import type { Database, Db } from './engine.ts';

/** The cheapest read; throws if the database cannot answer it. */
export async function ping(db: Db): Promise<void> {
  await sql`SELECT 1`.execute(db);
}

/** The smallest write that reaches the disk; throws if the database takes no writes. */
export async function pingWrite(database: Pick<Database, 'transact'>): Promise<void> {
  await database.transact((tx) =>
    tx
      .updateTable('schema_migrations')
      .set({ name: sql<string>`name` })
      .where('version', '=', (e) =>
        e.selectFrom('schema_migrations').select((m) => m.fn.min('version').as('first')),
      )
      .execute(),
  );
}
