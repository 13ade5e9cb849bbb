import { join } from 'node:path';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import type { TestProject } from 'vitest/node';
import { MIGRATIONS } from '../migrations.ts';
import type { Database } from '../platform/db/engine.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openPostgres } from '../platform/db/postgres.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { databaseOptions } from './database-options.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A file of SQLite with every migration applied, to be copied. */
    sqliteTemplate: string;
    /** Addresses on a running server: its own database, and one with all migrations; or why there is none. */
    postgres: { url: string; template: string } | { missing: string };
  }
}

/**
 * Vitest global set-up: one throw-away PostgreSQL for all test files, and on both engines one database that
 * is migrated once. Copying it takes a tenth of the time.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = tmpDir('tidegate-databases-');
  const file = join(folder.path, 'template.db');
  await migrated(openSqlite(file, databaseOptions()));
  project.provide('sqliteTemplate', file);
  // Another Node contains another SQLite; PostgreSQL is the same server with the same driver.
  if (process.env.TIDEGATE_ENGINES === 'sqlite') {
    project.provide('postgres', { missing: 'TIDEGATE_ENGINES=sqlite' });
    return async () => folder.remove();
  }
  const server = await startPostgres({ memory: true, settings: { max_connections: 300 } });
  if ('missing' in server) {
    process.stderr.write(
      `PostgreSQL tests are skipped: ${server.missing} (Debian: apt install postgresql)\n`,
    );
    project.provide('postgres', { missing: server.missing });
    return async () => folder.remove();
  }
  const template = await server.createDatabase();
  await migrated(openPostgres(template, databaseOptions()));
  project.provide('postgres', { url: server.url('postgres'), template });
  return async () => {
    await server.stop();
    folder.remove();
  };
}

async function migrated(database: Database): Promise<void> {
  const outcome = await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  if (!outcome.ok) throw new Error('an empty database cannot be newer than the program');
  // The source of a copy must have no connections, and SQLite moves its journal into the file.
  await database.close();
}
