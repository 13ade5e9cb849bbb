import { type Database, DatabaseFault } from '../platform/db/engine.ts';

/** A database whose commits fail on demand, like those of a full disk. */
export function faulty(database: Database, failing: { now: boolean }): Database {
  return {
    ...database,
    transact: (work) =>
      database.transact(async (tx) => {
        const result = await work(tx);
        if (failing.now) throw new DatabaseFault('disk is full');
        return result;
      }),
  };
}
