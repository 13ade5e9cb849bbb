import type { Database, Tx } from '../platform/db/engine.ts';
import { type Plugin, withPlugin } from './with-plugin.ts';

/** A database that counts transactions, their statements, and reads outside them (except prepared ones). */
export function countStatements(database: Database) {
  let counts = { transactions: 0, statements: 0, reads: 0 };
  const plugin = (count: () => void): Plugin => ({
    transformQuery({ node }) {
      count();
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const counted: Database = {
    ...database,
    read: Object.assign(database.read.withPlugin(plugin(() => counts.reads++)), {
      seals: database.read.seals,
    }),
    transact: <T>(work: (tx: Tx) => Promise<T>) => {
      counts.transactions++;
      return database.transact((tx) =>
        withPlugin(
          tx,
          plugin(() => counts.statements++),
          work,
        ),
      );
    },
  };
  return {
    database: counted,
    counts: () => counts,
    reset: () => {
      counts = { transactions: 0, statements: 0, reads: 0 };
    },
  };
}
