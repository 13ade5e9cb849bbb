import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { groupsOf } from './update-counts-store.ts';

test('open updates are counted from an index alone, not from the updates', async () => {
  const sqlite = ENGINES.find(({ name }) => name === 'sqlite');
  const database = await sqlite?.open();
  if (!database) throw new Error('SQLite is always tested');
  const counted = groupsOf({ state: 'pending', after: 5, end: 9 });
  const { rows } = await sql`EXPLAIN QUERY PLAN ${counted}`.execute(database.read);
  expect(JSON.stringify(rows)).toContain('USING COVERING INDEX updates_counted');
});
