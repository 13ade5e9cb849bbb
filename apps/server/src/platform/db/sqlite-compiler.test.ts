import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';

const [sqlite] = ENGINES;

test('a limit of SQLite is part of the text, so that the statement stays compiled', async () => {
  if (!sqlite) throw new Error('no engine');
  const { read } = await sqlite.open();
  const query = read.selectFrom('agents').select('id').where('group_name', '=', 'web').limit(7);
  expect(query.compile().sql).toMatch(/ limit 7$/);
  expect(query.compile().parameters).toEqual(['web']);
  expect(await query.execute()).toEqual([]);
});

test.each([1.5, Number.NaN, sql<number>`(SELECT 1)`])('a limit of %s is refused', async (limit) => {
  if (!sqlite) throw new Error('no engine');
  const { read } = await sqlite.open();
  expect(() => read.selectFrom('agents').select('id').limit(limit).compile()).toThrow('whole number');
});
