import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from './migrations.ts';
import type { Database } from './platform/db/engine.ts';
import { migrate } from './platform/db/migrate.ts';
import { openDatabase, SQLITE_FILE } from './platform/db/open.ts';
import { databaseOptions } from './testing/database-options.ts';
import { describeSchema } from './testing/describe-schema.ts';
import { ENGINES, type TestEngine } from './testing/engines.ts';

// The dumps in fixtures/ come from releases (testing/write-schema-fixture.ts). If a schema.ts is changed after its release
// instead of adding a migration, a new database differs from an upgraded one.

const FIXTURES = join(import.meta.dirname, 'fixtures');
const VERSIONS = [...new Set(readdirSync(FIXTURES).map((name) => Number(/^schema-(\d+)\./.exec(name)?.[1])))];
const now = () => 1;

async function load({ name, place }: TestEngine, version: number): Promise<Database> {
  const dump = readFileSync(join(FIXTURES, `schema-${version}.${name}.sql`), 'utf8');
  const { databaseUrl, dataDir } = await place();
  if (databaseUrl === null) {
    const file = new DatabaseSync(join(dataDir, SQLITE_FILE));
    file.exec(dump);
    file.close();
  } else {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(dump);
    await client.end();
  }
  const database = openDatabase({ databaseUrl, dataDir }, databaseOptions());
  onTestFinished(() => database.close());
  return database;
}

async function rowsOf({ read }: Database): Promise<Record<string, unknown[]>> {
  const tables = (await read.introspection.getTables()).filter(({ isView }) => !isView);
  const contents: Record<string, unknown[]> = {};
  for (const { name } of tables) {
    if (name === 'schema_migrations') continue;
    contents[name] = (await sql`SELECT * FROM ${sql.table(name)} ORDER BY 1`.execute(read)).rows;
  }
  return contents;
}

describe.each(ENGINES)('a database of a release, on $name', (engine) => {
  test('has a dump of the first release’s schema', () => {
    const base = MIGRATIONS.findLast(({ isBase }) => isBase)?.version;
    expect(VERSIONS).toContain(base);
  });

  test.each(VERSIONS)('%i: becomes the same as a new database, and keeps every row', async (version) => {
    const database = await load(engine, version);
    const before = await rowsOf(database);
    expect(before.updates).toHaveLength(4);
    const newer = MIGRATIONS.filter((migration) => migration.version > version);
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({
      ok: true,
      applied: newer.length,
    });
    expect(await describeSchema(database)).toEqual(await describeSchema(await engine.open()));
    expect(await rowsOf(database)).toMatchObject(before);
  });

  test.each(VERSIONS)('%i: keeps its counters and triggers', async (version) => {
    const database = await load(engine, version);
    await migrate(database, { migrations: MIGRATIONS, now });
    const pending = async () => {
      const rows = await database.read
        .selectFrom('host_sums')
        .select('pending')
        .orderBy('agent_id')
        .execute();
      return rows.map((row) => row.pending);
    };
    expect(await pending()).toEqual([1, 1]);
    const change = { state: 'rejected', updated_at: 2 };
    await database.transact((tx) =>
      tx.updateTable('updates').set(change).where('state', '=', 'pending').where('gone', '=', 0).execute(),
    );
    expect(await pending()).toEqual([0, 1]);
    await expect(database.transact((tx) => tx.deleteFrom('events').execute())).rejects.toThrow('append-only');
  });
});
