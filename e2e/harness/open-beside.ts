import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Long: a server on a busy machine has the lock of writers for a while. */
const LOCK_WAIT_MS = 30_000;

/** Opens the database of a server that runs and goes on writing. */
export function openBeside(dataDir: string): DatabaseSync {
  return new DatabaseSync(join(dataDir, 'tidegate.db'), { timeout: LOCK_WAIT_MS });
}
