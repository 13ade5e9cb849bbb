import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../../migrations.ts';
import { ENGINES } from '../../testing/engines.ts';
import type { Database } from './engine.ts';
import { type Migration, migrate } from './migrate.ts';

const now = () => 1_000;
const first: Migration = {
  version: 1,
  name: 'first',
  statements: ['CREATE TABLE one (id INTEGER PRIMARY KEY)', 'INSERT INTO one VALUES (1)'],
};
const second: Migration = {
  version: 2,
  name: 'second',
  statements: ['ALTER TABLE one ADD COLUMN extra TEXT', 'UPDATE one SET id = 2'],
};
const broken: Migration = {
  version: 3,
  name: 'broken',
  statements: ['CREATE TABLE three (id INTEGER)', 'DROP TABLE one', 'INSERT INTO nowhere VALUES (1)'],
};

async function column(database: Database, query: string): Promise<unknown[]> {
  const { rows } = await sql.raw<Record<string, unknown>>(query).execute(database.read);
  return rows.flatMap((row) => Object.values(row));
}

const OTHER = { sqlite: 'postgres', postgres: 'sqlite' } as const;
const VERSIONS = 'SELECT version FROM schema_migrations ORDER BY version';

test('the migrations are numbered upwards, each once, and the signing keys are 020 (section 9)', () => {
  const versions = MIGRATIONS.map((m) => m.version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  expect(MIGRATIONS.find((m) => m.version === 20)?.name).toBe('signing-keys');
});

describe.each(ENGINES)('on $name', (engine) => {
  test('applies pending ones, in order, and then nothing', async () => {
    const database = await engine.openEmpty();
    expect(await migrate(database, { migrations: [first], now })).toEqual({
      ok: true,
      applied: 1,
      version: 1,
    });
    expect(await migrate(database, { migrations: [first, second], now })).toEqual({
      ok: true,
      applied: 1,
      version: 2,
    });
    expect(await migrate(database, { migrations: [first, second], now })).toEqual({
      ok: true,
      applied: 0,
      version: 2,
    });
    expect(await column(database, VERSIONS)).toEqual([1, 2]);
    expect(await column(database, 'SELECT id FROM one')).toEqual([2]);
  });

  test('a failed migration leaves the database as it was, including the ones before it', async () => {
    const database = await engine.openEmpty();
    await migrate(database, { migrations: [first], now });
    const attempt = migrate(database, { migrations: [first, second, broken], now });
    await expect(attempt).rejects.toThrow(/nowhere/);
    expect(await column(database, VERSIONS)).toEqual([1]);
    expect(await column(database, 'SELECT * FROM one')).toEqual([1]);
    await expect(column(database, 'SELECT * FROM three')).rejects.toThrow(/three/);
    expect(await migrate(database, { migrations: [first, second], now })).toMatchObject({ applied: 1 });
  });

  test('a failure in an empty database leaves it empty', async () => {
    const database = await engine.openEmpty();
    await expect(migrate(database, { migrations: [broken], now })).rejects.toThrow();
    await expect(column(database, VERSIONS)).rejects.toThrow(/schema_migrations/);
  });

  test('refuses a database that a newer program has migrated, and changes nothing', async () => {
    const database = await engine.openEmpty();
    await migrate(database, { migrations: [first, second], now });
    expect(await migrate(database, { migrations: [first], now })).toEqual({
      ok: false,
      reason: 'newer_database',
      databaseVersion: 2,
      programVersion: 1,
    });
    expect(await column(database, VERSIONS)).toEqual([1, 2]);
  });

  test('refuses a database that lacks a part of the base, and changes nothing', async () => {
    const database = await engine.openEmpty();
    await migrate(database, { migrations: [first], now });
    const base = [first, second].map((part) => ({ ...part, isBase: true as const }));
    expect(await migrate(database, { migrations: base, now })).toEqual({
      ok: false,
      reason: 'before_first_release',
      databaseVersion: 1,
    });
    expect(await column(database, VERSIONS)).toEqual([1]);
    expect(await migrate(database, { migrations: [first, { ...second }], now })).toMatchObject({
      applied: 1,
    });
    expect(await migrate(database, { migrations: base, now })).toMatchObject({ ok: true, applied: 0 });
  });

  test('skips a statement of the other engine', async () => {
    const database = await engine.openEmpty();
    const statements = [
      { [engine.name]: 'CREATE TABLE mine (id INTEGER)' },
      { [OTHER[engine.name]]: 'nonsense' },
    ];
    const migration: Migration = { version: 1, name: 'one', statements };
    expect(await migrate(database, { migrations: [migration], now })).toMatchObject({ applied: 1 });
    expect(await column(database, 'SELECT count(*) FROM mine')).toEqual([0]);
  });

  test('two concurrent starts apply each migration once', async () => {
    const database = await engine.openEmpty();
    const migrations = [first, second];
    const outcomes = await Promise.all([
      migrate(database, { migrations, now }),
      migrate(database, { migrations, now }),
    ]);
    expect(outcomes.map((o) => (o.ok ? o.applied : -1)).sort()).toEqual([0, 2]);
  });

  test('the real ones apply to an empty database and are then complete', async () => {
    const database = await engine.openEmpty();
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({
      applied: MIGRATIONS.length,
    });
    expect(await migrate(database, { migrations: MIGRATIONS, now })).toMatchObject({ applied: 0 });
  });
});

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('a migration on $name', (engine) => {
  test('may take as long as a large fleet needs, and other queries may not', async () => {
    const database = await engine.openEmpty();
    const migration: Migration = {
      version: 1,
      name: 'long',
      statements: [`CREATE TABLE seen AS SELECT current_setting('statement_timeout') AS timeout`],
    };
    await migrate(database, { migrations: [migration], now });
    expect(await column(database, 'SELECT timeout FROM seen')).toEqual(['0']);
    expect(await column(database, 'SHOW statement_timeout')).toEqual(['30s']);
    await database.transact(async (tx) => {
      expect((await sql<{ statement_timeout: string }>`SHOW statement_timeout`.execute(tx)).rows).toEqual([
        { statement_timeout: '30s' },
      ]);
    });
  });
});
