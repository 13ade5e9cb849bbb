import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const FILE = 'server.lock';

/** The exclusive right to a data folder; the kernel releases it when the process ends, in any way. */
export interface InstanceLock {
  release(): void;
}

/**
 * Takes the exclusive lock of a data folder without waiting; null if another process has it. The lock is
 * SQLite's own on a database that stays empty: the one file lock that Node has on every system. Throws if the
 * folder has no locks, as SQLite would for the database itself.
 */
export function holdInstanceLock(dataDir: string): InstanceLock | null {
  const database = new DatabaseSync(join(dataDir, FILE), { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return { release: () => database.close() };
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
