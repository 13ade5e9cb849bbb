import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Database, Tx } from './engine.ts';

/** One numbered step forward; statements that both engines understand, or one for each, run in order. */
export interface Migration {
  version: number;
  name: string;
  statements: readonly (string | { sqlite: string; postgres: string })[];
}

export type MigrateOutcome =
  | { ok: true; applied: number; version: number }
  | { ok: false; reason: 'newer_database'; databaseVersion: number; programVersion: number };

/** Any number: the key of the advisory lock that keeps two replicas from migrating at once. */
const POSTGRES_LOCK_KEY = 7_434_163;

/**
 * Applies the pending migrations in one transaction, so that a failure in any of them leaves the database as it was.
 * Refuses a database that a newer program has migrated. Throws whatever a failed statement threw.
 */
export async function migrate(
  database: Database,
  options: { migrations: readonly Migration[]; now: Clock },
): Promise<MigrateOutcome> {
  const { migrations, now } = options;
  const programVersion = migrations.at(-1)?.version ?? 0;
  return database.transact(async (tx) => {
    if (database.engine === 'postgres') {
      // A large fleet's tables are rewritten, and another replica waits for that: neither is a query that hangs.
      await sql`SET LOCAL statement_timeout = 0`.execute(tx);
      await sql`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK_KEY})`.execute(tx);
    }
    await tx.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('version', 'integer', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('applied_at', 'bigint', (c) => c.notNull())
      .execute();
    const databaseVersion = await currentVersion(tx);
    if (databaseVersion > programVersion) {
      return { ok: false, reason: 'newer_database', databaseVersion, programVersion } as const;
    }
    const pending = migrations.filter((m) => m.version > databaseVersion);
    for (const migration of pending) {
      for (const statement of migration.statements) {
        const text = typeof statement === 'string' ? statement : statement[database.engine];
        await sql.raw(text).execute(tx);
      }
      const row = { version: migration.version, name: migration.name, applied_at: now() };
      await tx.insertInto('schema_migrations').values(row).execute();
    }
    return { ok: true, applied: pending.length, version: programVersion } as const;
  });
}

async function currentVersion(tx: Tx): Promise<number> {
  const row = await tx
    .selectFrom('schema_migrations')
    .select((e) => e.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? 0;
}
