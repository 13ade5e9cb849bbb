import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertDecisions } from './approvals/decision-store.ts';
import { changesBetween } from './installed/changes-store.ts';
import { nameKey } from './installed/identity.ts';
import { internPackages } from './installed/identity-store.ts';
import { packagesNamed } from './installed/store.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Database } from './platform/db/engine.ts';
import { migrate } from './platform/db/migrate.ts';
import { openDatabase, SQLITE_FILE } from './platform/db/open.ts';
import type { Tables } from './platform/db/tables.ts';
import { databaseOptions } from './testing/database-options.ts';
import { describeSchema } from './testing/describe-schema.ts';
import { ENGINES, type TestEngine } from './testing/engines.ts';
import { changeInstalled } from './testing/installed-rows.ts';

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

async function decide(
  database: Database,
  { id, agent_id }: { id: string; agent_id: string },
  { n, outcome }: { n: number; outcome: Tables['decisions']['outcome'] },
): Promise<void> {
  const row = {
    ...{
      id: `decision-${n}`,
      agent_id,
      set_sha256: id,
      plan_id: null,
      outcome,
      actor: 'ada',
      token_id: null,
    },
    ...{
      fingerprint: 'f',
      document: '{}',
      document_sha256: 'd',
      decided_at: n,
      repeated_at: null,
      repeats: 0,
    },
  };
  await database.transact((tx) => insertDecisions(tx, [{ row, updateIds: [id] }]));
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

  test('352: what hosts have and had is the same, and goes on with a row for each new version', async () => {
    const database = await load(engine, 210);
    const older = MIGRATIONS.filter(({ version }) => version <= 352);
    await migrate(database, { migrations: older, now });
    const section = { agentId: '01900000-0000-7000-8000-000000000001', ecosystem: 'apt' };
    const packageOf = (name: string, version: string, held = 0) => ({
      ...{ name, version, arch: 'amd64', held },
      ...{ source_name: null, source_version: null, origin: null },
    });
    const key = sql.lit(nameKey('apt', 'curl'));
    await database.transact(async (tx) => {
      const [old, young] = await internPackages(tx, {
        ecosystem: 'apt',
        packages: [packageOf('curl', '1'), packageOf('curl', '2')],
      });
      const { number } = await tx
        .insertInto('inventory_agents')
        .values({ agent_id: section.agentId, changes: 2 })
        .returning('number')
        .executeTakeFirstOrThrow();
      const [of, from, to] = [sql.lit(number), sql.lit(old), sql.lit(young)];
      await sql`INSERT INTO installed_packages (agent_number, name_key, package_id, held)
        VALUES (${of}, ${key}, ${to}, 1)`.execute(tx);
      await sql`INSERT INTO inventory_changes (agent_number, position, package_id, change, held, changed_at)
        VALUES (${of}, 1, ${from}, 0, 0, 5), (${of}, 2, ${to}, 1, 1, 5)`.execute(tx);
      await tx
        .insertInto('inventory_reports')
        .values({
          ...{ agent_id: section.agentId, ecosystem: 'apt', digest: 'd', complete: 1, package_count: 1 },
          ...{ scanned_at: 4, received_at: 4, changes_since: 4 },
        })
        .onConflict((conflict) =>
          conflict.columns(['agent_id', 'ecosystem']).doUpdateSet({ changes_since: 4 }),
        )
        .execute();
    });
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({ ok: true });
    const has = async () =>
      (await packagesNamed(database.read, section, ['curl'])).map(({ version, held }) => [version, held]);
    expect(await has()).toEqual([['2', 1]]);
    await database.transact((tx) =>
      changeInstalled(
        tx,
        { ...section, nowMs: 6 },
        { gone: [packageOf('curl', '2')], put: [packageOf('curl', '3', 1)] },
      ),
    );
    // The same row again: it is there once.
    await database.transact((tx) =>
      changeInstalled(tx, { ...section, nowMs: 7 }, { put: [packageOf('curl', '3')] }),
    );
    expect(await has()).toEqual([['3', 0]]);
    const all = await changesBetween(database.read, {
      agentId: section.agentId,
      ...{ afterMs: 0, untilMs: 9 },
    });
    expect(all.map(({ position, change, version, held }) => [position, change, version, held])).toEqual([
      [1, 'removed', '1', 0],
      [2, 'added', '2', 1],
      [3, 'removed', '2', 1],
      [4, 'added', '3', 1],
      [5, 'held', '3', 0],
    ]);
  });

  test('385: guesses that were stored by plain hashes are gone, and other limits stay', async () => {
    const database = await load(engine, 210);
    await migrate(database, { migrations: MIGRATIONS.filter(({ version }) => version < 385), now });
    const names = ['guessers', 'guesses at a name', 'requests of login'];
    await database.transact((tx) =>
      tx
        .insertInto('shared_counts')
        .values(names.map((name) => ({ name, key: 'a', state: '', idle_at: 5 })))
        .execute(),
    );
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({ ok: true });
    const left = await database.read.selectFrom('shared_counts').select('name').execute();
    expect(left).toEqual([{ name: 'requests of login' }]);
  });

  test('392: what the gate stopped before is marked, and what it stops later', async () => {
    const database = await load(engine, 210);
    await migrate(database, { migrations: MIGRATIONS.filter(({ version }) => version < 392), now });
    const updates = await database.read
      .selectFrom('updates')
      .select(['id', 'agent_id'])
      .orderBy('id')
      .execute();
    const [stopped, passed, later] = updates;
    if (!stopped || !passed || !later) throw new Error('the dump has too few updates');
    await decide(database, stopped, { n: 1, outcome: 'blocked' });
    await decide(database, passed, { n: 2, outcome: 'minted' });
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({ ok: true });
    const blocked = async () => {
      const rows = database.read.selectFrom('updates').select('id').where('blocked', '=', 1).orderBy('id');
      return (await rows.execute()).map(({ id }) => id);
    };
    expect(await blocked()).toEqual([stopped.id]);
    await decide(database, later, { n: 3, outcome: 'handed_back' });
    await decide(database, passed, { n: 4, outcome: 'minted' });
    expect(await blocked()).toEqual([stopped.id, later.id]);
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
