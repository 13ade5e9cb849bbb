import { sql } from 'kysely';
import type { Db } from './engine.ts';

/** The cheapest question; throws where the database cannot answer it. */
export async function ping(db: Db): Promise<void> {
  await sql`SELECT 1`.execute(db);
}
