import { type Database, DatabaseFault, type Tx } from '../platform/db/engine.ts';
import type { Revocation } from '../platform/db/write-context.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import { notRevoked } from './store.ts';

/**
 * The same database, whose revocations are in the journal before they are committed: a crash between the two leaves
 * one revocation too many and never one too few. A transaction that failed takes its lines back, unless it turns out
 * that its commit did arrive. `onKeySet` runs after the commit of a new key set and before the answer.
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
        // A transaction that lost a race is run again, and may decide otherwise.
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

/** No revocation without its line: the caller answers 503, as where the database takes no writes. */
function appended(journal: RevocationJournal, revocations: readonly Revocation[]): Revocation[] {
  try {
    return journal.append(revocations);
  } catch (error) {
    throw new DatabaseFault('the revocation journal cannot be written', { cause: error });
  }
}

/** Takes back the lines of a transaction that failed. Where the database cannot be asked they stay: one too many. */
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
        // The lock keeps another revocation of the same from slipping in between the look and the line.
        const open = await notRevoked(tx, { kind: revocation.kind, revocations: [revocation], engine });
        journal.withdraw(open);
      }
    });
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error;
  }
}
