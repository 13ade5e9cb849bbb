import { type Database, DatabaseFault, type Tx } from '../platform/db/engine.ts';
import type { Revocation } from '../platform/db/write-context.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import { notRevoked } from './store.ts';

/**
 * The same database; each revocation is in the journal before its commit, so a crash between the two leaves a
 * revocation too many, never one too few. A failed transaction withdraws its lines, unless its commit turns out
 * to have arrived. `onKeySet` runs after the commit of a new key set and before `transact` resolves.
 */
export function journaledDatabase(
  database: Database,
  { journal, onKeySet }: { journal: RevocationJournal; onKeySet: () => Promise<void> },
): Database {
  async function transact<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    let written: Revocation[] = [];
    let hasNewKeySet = false;
    let result: T;
    try {
      result = await database.transact(async (tx) => {
        // A transaction that lost a race runs again and may decide otherwise.
        journal.withdraw(written);
        written = [];
        const value = await work(tx);
        hasNewKeySet = tx.context.hasNewKeySet;
        written = appended(journal, tx.context.revocations);
        return value;
      });
    } catch (error) {
      await settle(database, journal, written);
      throw error;
    }
    if (hasNewKeySet) await onKeySet();
    return result;
  }
  return { ...database, transact };
}

/** Without its line nothing is revoked: answered 503, like a database that takes no writes. */
function appended(journal: RevocationJournal, revocations: readonly Revocation[]): Revocation[] {
  try {
    return journal.append(revocations);
  } catch (error) {
    throw new DatabaseFault('the revocation journal cannot be written', { cause: error });
  }
}

/** Withdraws the lines of a failed transaction. They stay if the database cannot be asked: a revocation too many. */
async function settle(
  database: Database,
  journal: RevocationJournal,
  written: readonly Revocation[],
): Promise<void> {
  if (written.length === 0) return;
  const { engine } = database;
  try {
    await database.transact(async (tx) => {
      for (const revocation of written) {
        // The lock keeps another transaction from revoking it between this read and the withdrawal.
        const open = await notRevoked(tx, { kind: revocation.kind, revocations: [revocation], engine });
        journal.withdraw(open);
      }
    });
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error;
  }
}
