import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { databaseOptions } from '../../testing/database-options.ts';
import { ENGINES } from '../../testing/engines.ts';
import { openPostgres } from './postgres.ts';

const FULL = 2;
/** Settings of connections, whatever the defaults of the database are. */
const SETTINGS: Record<'sqlite' | 'postgres', readonly (readonly [string, string | number])[]> = {
  sqlite: [
    ['journal_mode', 'wal'],
    ['synchronous', FULL],
    ['foreign_keys', 1],
  ],
  postgres: [
    ['synchronous_commit', 'on'],
    ['TimeZone', 'UTC'],
    ['jit', 'off'],
    ['max_parallel_workers_per_gather', '0'],
    ['random_page_cost', '1.1'],
  ],
};
const IN_TRANSACTIONS: readonly (readonly [string, string | number])[] = [
  ...SETTINGS.postgres,
  ['statement_timeout', '30s'],
  ['transaction_isolation', 'read committed'],
];

describe.each(ENGINES)('a connection that writes to $name', (engine) => {
  test.each(SETTINGS[engine.name])('has %s %s', async (name, value) => {
    const database = await engine.open();
    const text = engine.name === 'sqlite' ? `PRAGMA ${name}` : `SHOW ${name}`;
    const { rows } = await database.transact((tx) => sql.raw<Record<string, unknown>>(text).execute(tx));
    expect(rows.map((row) => Object.values(row))).toEqual([[value]]);
  });
});

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('behind a pooler, $name', (engine) => {
  test.each(IN_TRANSACTIONS)(
    'begins each transaction with %s %s, and leaves the connection as it was',
    async (name, value) => {
      const { databaseUrl } = await engine.place();
      const database = openPostgres(`${databaseUrl}&pgbouncer=true`, {
        ...databaseOptions(),
        connections: { transactions: 1, reads: 1, prepared: 1 },
      });
      onTestFinished(() => database.close());
      const show = sql.raw<Record<string, unknown>>(`SHOW ${name}`);
      const before = await show.execute(database.read);
      const inside = await database.transact((tx) => show.execute(tx));
      expect(inside.rows.map((row) => Object.values(row))).toEqual([[value]]);
      expect(await show.execute(database.read)).toEqual(before);
      const one = { name: 'one', sqlite: 'SELECT 1', postgres: 'SELECT 1' };
      expect(await database.prepareRead(one)([])).toEqual([[1]]);
      const named = {
        ...{ name: 'named', sqlite: '' },
        postgres: 'SELECT count(*)::int FROM pg_prepared_statements',
      };
      expect(await database.prepareRead(named)([])).toEqual([[0]]);
    },
  );
});

describe.each(ENGINES)('transactions that wait for one another on $name', (engine) => {
  test('delay no read, and no authentication', async () => {
    const database = await engine.open();
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    // More of them than connections; the first holds the lock that the others want.
    const transactions = Array.from({ length: 30 }, () =>
      database.transact(async (tx) => {
        await sql`UPDATE events_head SET position = position`.execute(tx);
        begun.resolve();
        await gate.promise;
      }),
    );
    await begun.promise;
    const one = { name: 'one', sqlite: 'SELECT 1', postgres: 'SELECT 1' };
    expect(await database.prepareRead(one)([])).toEqual([[1]]);
    const { rows } = await sql<{ n: number }>`SELECT 1 AS n`.execute(database.read);
    expect(rows).toEqual([{ n: 1 }]);
    gate.resolve();
    await Promise.all(transactions);
  });
});
