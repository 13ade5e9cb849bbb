import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';

describe.each(ENGINES)('updates of a host, on $name', (engine) => {
  test('those of one package are found by an index, among any number of others', async () => {
    const database = await engine.open();
    const question = sql`SELECT 1 FROM updates AS o WHERE o.agent_id = 'a' AND o.ecosystem = 'apt' AND o.name = 'n' AND o.id <> 'u'`;
    const plan =
      database.engine === 'sqlite'
        ? await sql`EXPLAIN QUERY PLAN ${question}`.execute(database.read)
        : await database.transact(async (tx) => {
            await sql`SET LOCAL enable_seqscan = off`.execute(tx);
            return sql`EXPLAIN ${question}`.execute(tx);
          });
    expect(JSON.stringify(plan.rows)).toMatch(
      database.engine === 'sqlite'
        ? /updates_agent \(agent_id=\? AND ecosystem=\? AND name=\?\)/
        : /Index Cond: \(\(agent_id = 'a'::text\) AND \(ecosystem = 'apt'::text\) AND \(name = 'n'::text\)\)/,
    );
  });
});
