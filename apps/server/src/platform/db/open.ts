import { join } from 'node:path';
import type { CommitSteps, Database, DatabaseOptions } from './engine.ts';
import { openPostgres, openPostgresReads } from './postgres.ts';
import { openSqlite, openSqliteReads } from './sqlite.ts';

/** Name of the embedded database in the data folder. */
export const SQLITE_FILE = 'tidegate.db';

/** Opens the configured database. Throws if the SQLite file cannot be opened; PostgreSQL is connected to later. */
export function openDatabase(
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | null },
  {
    chaining,
    ...options
  }: Omit<DatabaseOptions, keyof CommitSteps> & {
    chaining: Readonly<Record<Database['engine'], CommitSteps>>;
    onError?: (error: Error) => void;
  },
): Database {
  return databaseUrl === null
    ? openSqlite(join(dataDir, SQLITE_FILE), { ...options, ...chaining.sqlite })
    : openPostgres(databaseUrl, { ...options, ...chaining.postgres });
}

/** Opens the database of a server for prepared reads beside it. */
export function openReads(
  { dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | null },
  options: { onError: (error: Error) => void },
): Pick<Database, 'engine' | 'prepareRead' | 'close'> {
  return databaseUrl === null
    ? openSqliteReads(join(dataDir, SQLITE_FILE))
    : openPostgresReads(databaseUrl, options);
}
