import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packagesNamed } from './installed/store.ts';
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
/** What hosts have installed has another form since: a server of 0.1.0 answers their reports with 500 until it is replaced. */
const MOVED_AFTER_210 = ['agent_packages'];

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
    // Its packages are moved: the test below says where to.
    const { agent_packages: _, ...before } = await rowsOf(database);
    expect(before.updates).toHaveLength(4);
    const newer = MIGRATIONS.filter((migration) => migration.version > version);
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({
      ok: true,
      applied: newer.length,
    });
    expect(await describeSchema(database)).toEqual(await describeSchema(await engine.open()));
    expect(await rowsOf(database)).toMatchObject(before);
  });

  test.each(VERSIONS)(
    '%i: a server of that release that still runs reads and writes what it knows',
    async (version) => {
      const database = await load(engine, version);
      const columns = async () => {
        const tables = (await database.read.introspection.getTables()).filter(({ isView }) => !isView);
        return tables.flatMap(({ name, columns }) => columns.map((column) => ({ ...column, table: name })));
      };
      const before = await columns();
      await migrate(database, { migrations: MIGRATIONS, now });
      const after = new Map((await columns()).map((column) => [`${column.table}.${column.name}`, column]));
      const gone = before.filter(({ table, name, dataType, isNullable }) => {
        const kept = after.get(`${table}.${name}`);
        return kept?.dataType !== dataType || (isNullable && !kept.isNullable);
      });
      expect([...new Set(gone.map(({ table }) => table))]).toEqual(version <= 210 ? MOVED_AFTER_210 : []);
      const known = new Set(before.map(({ table, name }) => `${table}.${name}`));
      const tables = new Set(before.map(({ table }) => table));
      const demanded = [...after].filter(
        ([name, { table, isNullable, hasDefaultValue, isAutoIncrementing }]) =>
          tables.has(table) && !known.has(name) && !isNullable && !hasDefaultValue && !isAutoIncrementing,
      );
      expect(demanded.map(([name]) => name)).toEqual([]);
    },
  );

  test('210: the packages of each host are the same, and what two hosts say alike is stored once', async () => {
    const database = await load(engine, 210);
    const hosts = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'];
    const rows = hosts.flatMap((agent_id) => [
      // More than one page of a host, so that the next page goes on within it.
      ...Array.from({ length: 2_100 }, (_, n) => ({
        ...{ agent_id, ecosystem: 'apt', name: `package-${n}`, arch: 'amd64', version: '1', held: n % 2 },
        ...{ source_name: 'source', source_version: null, origin: null },
      })),
      // The same name elsewhere, and the same package with another origin on each host.
      ...['npm', 'dnf'].map((ecosystem) => ({
        ...{ agent_id, ecosystem, name: 'package-1', arch: '', version: '1', held: 0 },
        ...{ source_name: null, source_version: null, origin: ecosystem === 'dnf' ? agent_id : null },
      })),
    ]);
    const report = { ecosystem: 'apt', digest: 'd', scanned_at: 5, received_at: 7, complete: 1 };
    await database.transact(async (tx) => {
      for (const row of rows) {
        const values = sql.join(Object.values(row));
        const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
        await sql`INSERT INTO agent_packages (${columns}) VALUES (${values})`.execute(tx);
      }
      for (const [i, agent_id] of hosts.entries()) {
        const writing = i === 0 ? null : 'a writer';
        const values = { ...report, agent_id, package_count: 2_102, writing };
        await tx.insertInto('inventory_reports').values(values).execute();
      }
    });
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({ ok: true });
    const moved = database.read.selectFrom('host_packages');
    const found = await moved
      .select(['agent_id', 'ecosystem', 'name', 'arch', 'version', 'held'])
      .select(['source_name', 'source_version', 'origin'])
      .execute();
    const sorted = (all: readonly object[]) =>
      all.map((row) => JSON.stringify(Object.entries(row).toSorted())).toSorted();
    expect(sorted(found)).toEqual(sorted(rows));
    const identities = await database.read.selectFrom('package_identities').select('digest').execute();
    expect(identities).toHaveLength(2_100 + 1 + 2);
    const named = await packagesNamed(database.read, { agentId: hosts[0] ?? '', ecosystem: 'npm' }, [
      'package-1',
    ]);
    expect(named).toMatchObject([{ name: 'package-1', arch: '' }]);
    const since = database.read.selectFrom('inventory_reports').select('changes_since').orderBy('agent_id');
    expect((await since.execute()).map((row) => row.changes_since)).toEqual([7, null]);
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
