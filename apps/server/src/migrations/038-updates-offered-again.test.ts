import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { migrate } from '../platform/db/migrate.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { MIGRATIONS } from './migrations.ts';

const now = () => 1_000;

describe.each(ENGINES)('the rows of updates that were there, on $name', (engine) => {
  test('keep every column, and what refers to them', async () => {
    const database = await engine.openEmpty();
    await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version < 38), now });
    const { agentId } = await insertTestAgent(database, { n: 1 });
    for (const [n, state] of ['pending', 'installed', 'approved'].entries()) {
      await insertTestUpdate(database, { agentId, n, state, expiresAtMs: 2_000 });
    }
    const before = await database.read.selectFrom('updates').selectAll().orderBy('id').execute();
    await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version <= 38), now });
    const after = await database.read.selectFrom('updates').selectAll().orderBy('id').execute();
    expect(after).toEqual(before);
    expect(after.length).toBe(3);
    expect((await database.read.selectFrom('approvals').select('token_id').execute()).length).toBe(3);
    // They still refer to it: what is referred to cannot go.
    await expect(
      database.transact((tx) => tx.deleteFrom('updates').where('agent_id', '=', agentId).execute()),
    ).rejects.toThrow(/foreign key/i);
    expect(await indexesOf(database)).toEqual([
      'updates_agent',
      'updates_name',
      'updates_open',
      'updates_state',
    ]);
  });
});

async function indexesOf(database: Database): Promise<string[]> {
  const query =
    database.engine === 'sqlite'
      ? sql<{
          name: string;
        }>`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'updates' AND sql <> ''`
      : sql<{ name: string }>`SELECT indexname AS name FROM pg_indexes WHERE tablename = 'updates'
          AND indexname <> 'updates_pkey'`;
  const { rows } = await query.execute(database.read);
  return rows.map(({ name }) => name).toSorted();
}
