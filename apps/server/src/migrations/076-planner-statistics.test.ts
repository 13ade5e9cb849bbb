import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Db } from '../platform/db/engine.ts';
import { migrate } from '../platform/db/migrate.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { MIGRATIONS } from './migrations.ts';

const now = () => 1_000;
const TABLES = ['agents', 'update_names', 'updates'];
/** What `reltuples` is of a table that nobody has counted. */
const UNKNOWN = -1;

describe.each(ENGINES)('a server that was there before, on $name', (engine) => {
  test('has every update as it was', async () => {
    const { database, updates } = await openOlder(engine);
    const before = await database.read.selectFrom('updates').selectAll().orderBy('id').execute();
    expect(before).toHaveLength(updates);
    await migrate(database, { migrations: MIGRATIONS, now });
    expect(await database.read.selectFrom('updates').selectAll().orderBy('id').execute()).toEqual(before);
  });
});

// What the planner believes of an empty table it keeps believing until the table is analyzed again: it reads all of it
// for every row, with plans that it made then.
describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('the planner of $name', (engine) => {
  test('believes nothing of the tables of a new server', async () => {
    const { read } = await engine.open();
    expect(await rowsOf(read)).toEqual(TABLES.map((table) => [table, UNKNOWN]));
  });

  test('knows the tables of a server that was there before', async () => {
    const { database, updates } = await openOlder(engine);
    await migrate(database, { migrations: MIGRATIONS, now });
    const rows = new Map(await rowsOf(database.read));
    expect([rows.get('agents'), rows.get('updates')]).toEqual([1, updates]);
  });

  test('finds the other updates of a host by an index, however few there were when it made its plan', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    for (let n = 0; n < 10; n++)
      await insertTestUpdate(database, { agentId, n, state: 'pending', expiresAtMs: 2_000 });
    await sql`ANALYZE`.execute(database.read);
    const read = await database.transact(async (tx) => {
      await sql`INSERT INTO updates (id, agent_id, ecosystem, name, arch, current_version, available_version, security,
          state, discovered_at, updated_at)
        SELECT 'new-' || n, ${agentId}, 'apt', 'package-' || n, 'amd64', '1', '2', 0, 'pending', 1, 1
        FROM generate_series(1, 200) AS n`.execute(tx);
      const { rows } = await sql<{
        rows: number;
      }>`SELECT pg_stat_get_xact_tuples_returned('updates'::regclass) AS rows`.execute(tx);
      return rows[0]?.rows;
    });
    expect(read).toBe(0);
  });
});

async function openOlder(engine: TestEngine) {
  const database = await engine.openEmpty();
  await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version < 76), now });
  const { agentId } = await insertTestAgent(database, { n: 1 });
  const updates = 3;
  for (let n = 0; n < updates; n++)
    await insertTestUpdate(database, { agentId, n, state: 'pending', expiresAtMs: 2_000 });
  return { database, updates };
}

async function rowsOf(db: Db): Promise<[string, number][]> {
  const { rows } = await sql<{
    name: string;
    rows: number;
  }>`SELECT relname AS name, reltuples AS rows FROM pg_class
    WHERE relname IN (${sql.join(TABLES)}) ORDER BY relname`.execute(db);
  return rows.map((row) => [row.name, row.rows]);
}
