import { sql } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Database, Tx } from './engine.ts';
import { newestMigration } from './schema-version.ts';
import { type Statement, textOf } from './statement.ts';

/** One numbered step; its statements run in order. */
export interface Migration {
  version: number;
  name: string;
  statements: readonly Statement[];
  /** Moves rows that no statement can move, after the statements; bounded in memory, whatever the size of the database. */
  move?: (tx: Tx) => Promise<void>;
  /** Part of the schema of the first release: a database has all of these parts or none. */
  isBase?: true;
}

export type MigrateOutcome =
  | { ok: true; applied: number; version: number }
  | { ok: false; reason: 'newer_database'; databaseVersion: number; programVersion: number }
  | { ok: false; reason: 'before_first_release'; databaseVersion: number };

/** The table of the steps that a database has taken. */
export const SCHEMA_MIGRATIONS = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at BIGINT NOT NULL
)`;

/** Key of the advisory lock that keeps replicas from migrating at the same time; any number. */
const POSTGRES_LOCK_KEY = 7_434_163;

/**
 * Applies the pending migrations in one transaction, so a failure in any of them leaves the database unchanged.
 * Refuses a database that a newer program has migrated, and one from before the first release. Throws the error
 * of a failed statement.
 */
export async function migrate(
  database: Database,
  options: { migrations: readonly Migration[]; now: Clock },
): Promise<MigrateOutcome> {
  const { migrations, now } = options;
  const programVersion = migrations.at(-1)?.version ?? 0;
  return database.transact(async (tx) => {
    if (database.engine === 'postgres') {
      // Rewriting the tables of a large fleet takes long, and another replica waits for it: no timeout for either.
      await sql`SET LOCAL statement_timeout = 0`.execute(tx);
      await sql`SELECT pg_advisory_xact_lock(${POSTGRES_LOCK_KEY})`.execute(tx);
    }
    await sql.raw(SCHEMA_MIGRATIONS).execute(tx);
    const databaseVersion = (await newestMigration(tx)) ?? 0;
    if (databaseVersion > programVersion) {
      return { ok: false, reason: 'newer_database', databaseVersion, programVersion } as const;
    }
    if (databaseVersion > 0 && isBeforeFirstRelease(databaseVersion, migrations)) {
      return { ok: false, reason: 'before_first_release', databaseVersion } as const;
    }
    const pending = migrations.filter((m) => m.version > databaseVersion);
    for (const migration of pending) {
      for (const statement of migration.statements) {
        const text = textOf(statement, database.engine);
        if (text !== '') await sql.raw(text).execute(tx);
      }
      await migration.move?.(tx);
      const row = { version: migration.version, name: migration.name, applied_at: now() };
      await tx.insertInto('schema_migrations').values(row).execute();
    }
    return { ok: true, applied: pending.length, version: programVersion } as const;
  });
}

/** Whether a database or backup of this version lacks part of the base: it is from before the first release. */
export function isBeforeFirstRelease(version: number, migrations: readonly Migration[]): boolean {
  return migrations.some(({ isBase, version: part }) => isBase && part > version);
}

/** What is wrong with such a database and what to do, in one line. */
export function beforeReleaseFault(databaseVersion: number): string {
  return `the database is at version ${databaseVersion}, from before the first release, and cannot be brought up to date: set SERVICE_DATA_DIR to an empty folder (with PostgreSQL, SERVICE_DATABASE_URL to an empty database) and enrol the hosts again`;
}
