import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { databaseOptions } from '../../testing/database-options.ts';
import type { Database } from './engine.ts';
import { openSqlite } from './sqlite.ts';

/** A file of SQLite, and a second connection to it that has the lock of writers. */
function lockedFile() {
  const folder = tmpDir();
  const file = join(folder.path, 'locked.db');
  const database = openSqlite(file, databaseOptions());
  const other = new DatabaseSync(file);
  onTestFinished(async () => {
    other.close();
    await database.close();
    folder.remove();
  });
  other.exec('CREATE TABLE kept (n INTEGER) STRICT; BEGIN IMMEDIATE; INSERT INTO kept VALUES (1)');
  return { database, other };
}

const INSERT = 'INSERT INTO kept VALUES (2)';
const WRITES: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'a transaction': (database) => database.transact((tx) => sql.raw(INSERT).execute(tx)),
  'a prepared write': (database) =>
    database.prepareWrite({ name: 'insert', sqlite: INSERT, postgres: '' })([]),
};

test.each(Object.entries(WRITES))(
  'SQLite: %s waits for another connection that writes, and the event loop goes on',
  async (_, write) => {
    const { database, other } = lockedFile();
    const writing = write(database);
    // Comes only if the wait does not hold the thread.
    await turn();
    other.exec('COMMIT');
    await writing;
    expect(other.prepare('SELECT n FROM kept').all()).toEqual([{ n: 1 }, { n: 2 }]);
  },
);
