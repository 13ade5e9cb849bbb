import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { type Order, rangesOf } from './keyset.ts';

test('SQLite finds a position of several numbers by all of them in an index', async () => {
  const [sqlite] = ENGINES;
  const database = await sqlite?.open();
  if (!database) throw new Error('SQLite is always there');
  const order: Order = {
    parts: (['exploited', 'critical', 'high', 'fixing'] as const).map((column) => ({
      ...{ by: sql.ref(column), type: 'number' },
    })),
    ...{ id: sql`agent_id`, descending: false },
  };
  const [range] = rangesOf(order, { key: [0, 1, 2, 3], id: 'x' });
  const { rows } = await sql<{ detail: string }>`EXPLAIN QUERY PLAN SELECT agent_id FROM host_sums
    WHERE ${sql.join(range?.where ?? [], sql` AND `)} ORDER BY ${range?.orderBy}`.execute(database.read);
  expect(rows.map(({ detail }) => detail)).toEqual([
    expect.stringMatching(/INDEX \w+ \(\(exploited,critical,high,fixing,agent_id\)>/),
  ]);
});
