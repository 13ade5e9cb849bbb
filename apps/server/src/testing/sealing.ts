import { createRowSeals } from '../platform/db/create-row-seals.ts';
import type { Database } from '../platform/db/engine.ts';
import { sealedDatabase } from '../platform/db/row-seals.ts';

/** Rows of a test's database are sealed under a key that no server has. */
export function sealing(database: Database): Database {
  return sealedDatabase(
    database,
    createRowSeals(() => Buffer.alloc(32, 9)),
  );
}
