import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { chainEvents } from '../events/chain-events.ts';
import { MIGRATIONS } from '../migrations.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { type AgentsApp, createAgentsApp, enrol, renewal } from '../testing/agents-app.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';

/** Most refused renewals until a database that may not grow is full; each leaves an event. */
const EVENTS_MAX = 200;

/** Row 14: 503 with Retry-After, never 401, and the family is as it was. */
async function expectUnavailable(it: AgentsApp, token: string): Promise<void> {
  const before = await familiesOf(it);
  const answer = await renewal(it, token);
  expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(await familiesOf(it)).toEqual(before);
}

function familiesOf(it: AgentsApp) {
  return it.platform.database.read.selectFrom('refresh_families').selectAll().execute();
}

describe('row 14: faults of SQLite', () => {
  async function setUp({ lockWaitMs }: { lockWaitMs?: number } = {}) {
    const folder = tmpDir();
    const file = join(folder.path, 'faults.db');
    const database = openSqlite(file, {
      ...databaseOptions(),
      ...(lockWaitMs !== undefined && { lockWaitMs }),
    });
    onTestFinished(async () => {
      await database.close();
      folder.remove();
    });
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    const it = createAgentsApp(database);
    const { refresh_token: token } = await enrol(it);
    const pragma = (text: string) =>
      database.prepareWrite({ name: text, sqlite: `PRAGMA ${text}`, postgres: '' })([]);
    return { it, token, file, pragma };
  }

  test('SQLITE_BUSY: another process holds the write lock for longer than we wait', async () => {
    const { it, token, file } = await setUp({ lockWaitMs: 1 });
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    await expectUnavailable(it, token);
    other.exec('ROLLBACK');
    other.close();
    expect((await renewal(it, token)).status).toBe(200);
  });

  test('SQLITE_FULL: reuse is not even recorded, and counts once there is room again', async () => {
    const { it, token, pragma } = await setUp();
    const child = (await renewal(it, token)).body.refresh_token;
    const newest = (await renewal(it, child)).body.refresh_token;
    await pragma('max_page_count = 1'); // the present size: it cannot be less
    let refused = 0;
    while (refused < EVENTS_MAX && (await renewal(it, newest, { machineId: 'machine-9' })).status === 403)
      refused++;
    expect(refused).toBeLessThan(EVENTS_MAX);
    await expectUnavailable(it, token);
    await pragma('max_page_count = 4294967294');
    expect((await renewal(it, newest)).status).toBe(200);
    expect((await renewal(it, token)).status).toBe(401);
  });
});

const POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

describe.each(POSTGRES)('row 14: faults of PostgreSQL', (postgres) => {
  /** Does something to each transaction before its commit. */
  async function setUp() {
    const database = await postgres.open();
    const fault: { strike: ((tx: Tx) => Promise<unknown>) | null } = { strike: null };
    const struck: Database = {
      ...database,
      transact: (work) =>
        database.transact(async (tx) => {
          const result = await work(tx);
          await chainEvents(tx);
          await fault.strike?.(tx);
          return result;
        }),
    };
    const it = createAgentsApp(struck);
    const { refresh_token: token } = await enrol(it);
    return { it, token, fault, database };
  }

  test('a connection that is cut before the commit', async () => {
    const { it, token, fault, database } = await setUp();
    fault.strike = async (tx) => {
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(tx);
      await sql`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0})`.execute(database.read);
    };
    await expectUnavailable(it, token);
    fault.strike = null;
    expect((await renewal(it, token)).status).toBe(200);
  });

  test.each(['40001', '40P01'])('%s once is retried; permanently it is 503', async (code) => {
    const { it, token, fault } = await setUp();
    let strikes = 0;
    const fail = (tx: Tx) => {
      strikes++;
      return sql.raw(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`).execute(tx);
    };
    fault.strike = fail;
    await expectUnavailable(it, token);
    expect(strikes).toBe(4);
    fault.strike = async (tx) => {
      fault.strike = null;
      await fail(tx);
    };
    expect((await renewal(it, token)).status).toBe(200);
    const [family] = await familiesOf(it);
    expect([family?.cur_seq, family?.prev_grace_used]).toEqual([2, 0]);
  });

  test('a statement that runs out of time', async () => {
    const { it, token, fault } = await setUp();
    fault.strike = async (tx) => {
      await sql`SET LOCAL statement_timeout = 1`.execute(tx);
      await sql`SELECT pg_sleep(5)`.execute(tx);
    };
    await expectUnavailable(it, token);
  });
});
