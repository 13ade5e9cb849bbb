import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import type { Database, HotSql } from './engine.ts';
import { hotSql, text, textOrNull } from './hot-sql.ts';

const COLUMNS = '(version, name, applied_at)';
const ADD: HotSql = {
  name: 'add_marks',
  sqlite: `INSERT INTO schema_migrations ${COLUMNS} VALUES (?, ?, ?)`,
  postgres: `INSERT INTO schema_migrations ${COLUMNS}
    SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[])`,
};
const NAMED = hotSql(
  'named_marks',
  `SELECT version, name FROM schema_migrations WHERE name IN ?texts AND version IN ?integers AND applied_at < ?
    ORDER BY version`,
);
const ROWS = [
  [9_001, 'mark "one"', 1],
  [9_002, 'mark {two}, ünd\\', 2],
  [9_003, 'mark one', 3_000_000_000_000],
] as const;
const NAMES = ROWS.map(([, name]) => name);

const marks = (database: Database) => database.read.run(NAMED, [NAMES, [9_001, 9_002, 9_003], 4e12]);

test('one text becomes one for each engine', () => {
  expect(hotSql('name', 'SELECT 1 WHERE a = ? AND b IN ?texts AND c IN ?integers AND d = ?')).toEqual({
    name: 'name',
    sqlite:
      'SELECT 1 WHERE a = ? AND b IN (SELECT value FROM json_each(?)) AND c IN (SELECT value FROM json_each(?)) AND d = ?',
    postgres: 'SELECT 1 WHERE a = $1 AND b = ANY($2::text[]) AND c = ANY($3::integer[]) AND d = $4',
  });
});

test('a text column without a text is a fault, one without a value is null', () => {
  expect(() => text(null)).toThrow('a text column holds no text');
  expect([text('a'), textOrNull(null), textOrNull('a')]).toEqual(['a', null, 'a']);
});

describe.each(ENGINES)('statements of the hot path on $name', (engine) => {
  test('write rows and find them by lists, whatever the texts are', async () => {
    const database = await engine.open();
    await database.transact(async (tx) => {
      await tx.runEach(ADD, []);
      await tx.runEach(ADD, ROWS);
      expect(await tx.run(NAMED, [[NAMES[0] ?? ''], [9_001, 9_002], 2])).toEqual([[9_001, NAMES[0]]]);
    });
    expect(await marks(database)).toEqual(ROWS.map(([version, name]) => [version, name]));
    expect(await database.read.run(NAMED, [[], [9_001], 2])).toEqual([]);
  });

  test('belong to their transaction: what they wrote goes with it', async () => {
    const database = await engine.open();
    const failing = database.transact(async (tx) => {
      await tx.runEach(ADD, ROWS.slice(0, 1));
      await tx.insertInto('schema_migrations').values({ version: 9_002, name: 'x', applied_at: 0 }).execute();
      throw new Error('the act failed');
    });
    await expect(failing).rejects.toThrow('the act failed');
    const twice = database.transact((tx) => tx.runEach(ADD, [...ROWS, ...ROWS]));
    await expect(twice).rejects.toThrow(/unique/i);
    expect(await marks(database)).toEqual([]);
  });
});

const POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

test.each(POSTGRES)('$name prepares them once for a connection', async (engine) => {
  const database = await engine.open();
  const prepared = await database.transact(async (tx) => {
    await tx.run(NAMED, [[], [], 1]);
    await tx.run(NAMED, [NAMES, [9_001], 1]);
    const PREPARED = hotSql('prepared', 'SELECT count(*) FROM pg_prepared_statements WHERE name = ?');
    return tx.run(PREPARED, ['named_marks']);
  });
  expect(prepared).toEqual([[1]]);
});
