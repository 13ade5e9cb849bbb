import type { Database, Tx } from '../platform/db/engine.ts';
import { type Plugin, readsWithPlugin, shown, withPlugin } from './with-plugin.ts';

/** A database that counts transactions, their statements, and reads outside them (except prepared ones). */
export function countStatements(database: Database) {
  let counts = { transactions: 0, statements: 0, reads: 0 };
  const plugin = (count: () => void): Plugin => ({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      count();
      return result;
    },
  });
  const ofReads = plugin(() => counts.reads++);
  const counted: Database = {
    ...database,
    read: Object.assign(readsWithPlugin(database, ofReads), { run: shown(database.read.run, ofReads) }),
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
