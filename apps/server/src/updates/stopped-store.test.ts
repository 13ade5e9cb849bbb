import { CompiledQuery } from 'kysely';
import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { stoppedQuery } from './stopped-store.ts';

test('the count reads the index of open updates alone, not the updates', async () => {
  const sqlite = ENGINES.find(({ name }) => name === 'sqlite');
  const database = await sqlite?.open();
  if (!database) throw new Error('SQLite is always tested');
  const { sql, parameters } = stoppedQuery(database.read).compile();
  const plan = await database.read.executeQuery(
    CompiledQuery.raw(`EXPLAIN QUERY PLAN ${sql}`, [...parameters]),
  );
  expect(JSON.stringify(plan.rows)).toContain('USING COVERING INDEX updates_stopped');
});
