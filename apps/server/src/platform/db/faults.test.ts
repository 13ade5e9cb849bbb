import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { databaseOptions } from '../../testing/database-options.ts';
import { ENGINES } from '../../testing/engines.ts';
import { createOperatorApp } from '../../testing/operator-app.ts';
import { DatabaseFault } from './engine.ts';
import { ping, pingWrite } from './ping.ts';
import { openPostgres } from './postgres.ts';

const [sqlite] = ENGINES;
const GUESS = { username: 'root', password: 'wrong horse battery' };

test('an unavailable PostgreSQL is a fault for reads and for writes', async () => {
  const database = openPostgres('postgres://nobody@127.0.0.1:1/nothing', databaseOptions());
  onTestFinished(() => database.close());
  await expect(ping(database.read)).rejects.toThrow(DatabaseFault);
  await expect(pingWrite(database)).rejects.toThrow(DatabaseFault);
  expect(database.writeFaults()).toBe(1);
});

test('the write of the health check does write a row', async () => {
  const database = await sqlite?.open();
  const rowsWritten = async () => {
    const count = database?.transact((tx) => sql<{ n: number }>`SELECT total_changes() AS n`.execute(tx));
    return (await count)?.rows[0]?.n ?? 0;
  };
  const before = await rowsWritten();
  if (database) await pingWrite(database);
  expect(await rowsWritten()).toBe(before + 1);
});

test('an invalid statement is no fault of the database', async () => {
  for (const engine of ENGINES) {
    const database = await engine.open();
    const unknownTable = database.read
      .withTables<{ nothing: { id: string } }>()
      .selectFrom('nothing')
      .selectAll();
    await expect(unknownTable.execute()).rejects.not.toThrow(DatabaseFault);
  }
});

test('a read-only database answers 503 to writes and still reads; health is degraded until it accepts writes', async () => {
  if (!sqlite) throw new Error('SQLite is always there');
  const { send, logIn, database, clock, platform } = await createOperatorApp(sqlite);
  const { headers } = await logIn();
  const set = (value: 'ON' | 'OFF') =>
    database.prepareWrite({ name: 'query_only', sqlite: `PRAGMA query_only = ${value}`, postgres: '' })([]);
  // As after a full disk, or one that the system made read-only.
  await set('ON');
  const refused = await send('POST', '/api/v1/auth/login', { payload: GUESS });
  expect([refused.statusCode, refused.json().code, refused.headers['retry-after']]).toEqual([
    503,
    'unavailable',
    '5',
  ]);
  expect((await send('GET', '/api/v1/admin/operators', { headers })).statusCode).toBe(200);
  for (let i = 0; i < 3; i++) {
    clock.advance(1_000);
    expect((await send('GET', '/api/health')).json()).toMatchObject({
      status: 'degraded',
      checks: { database: 'down' },
    });
  }
  await set('OFF');
  clock.advance(1_000);
  expect((await send('GET', '/api/health')).json()).toMatchObject({
    status: 'ok',
    checks: { database: 'ok' },
  });
  expect((await send('POST', '/api/v1/auth/login', { payload: GUESS })).statusCode).toBe(401);
  expect(platform.lines.some((line) => line.startsWith('[ERROR] database unavailable'))).toBe(true);
});
