import { withWorkBeforeCommit } from '../platform/db/before-commit.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import { sealedDatabase, sealsOf } from '../platform/db/row-seals.ts';

/** A database that counts: transactions, the statements inside of them, and reads outside (prepared ones are not). */
export function countStatements(database: Database) {
  let counts = { transactions: 0, statements: 0, reads: 0 };
  const plugin = (count: () => void): Parameters<Tx['withPlugin']>[0] => ({
    transformQuery({ node }) {
      count();
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const counted: Database = {
    ...database,
    read: database.read.withPlugin(plugin(() => counts.reads++)),
    transact: <T>(work: (tx: Tx) => Promise<T>) => {
      counts.transactions++;
      return database.transact((tx) =>
        withWorkBeforeCommit(work)(tx.withPlugin(plugin(() => counts.statements++))),
      );
    },
  };
  return {
    database: sealedDatabase(counted, sealsOf(database.read)),
    counts: () => counts,
    reset: () => {
      counts = { transactions: 0, statements: 0, reads: 0 };
    },
  };
}
