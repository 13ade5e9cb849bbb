import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { migrate } from '../platform/db/migrate.ts';
import { ENGINES } from '../testing/engines.ts';
import { MIGRATIONS } from './migrations.ts';

test.each(ENGINES)(
  'the digests on the rows of agents become the text of a check-in ($name)',
  async (engine) => {
    const database = await engine.openEmpty();
    const now = () => 1_000;
    await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version < 27), now });
    await database.transact(async (tx) => {
      for (const [id, digests] of [
        ['a', ''],
        ['b', 'apt=12'],
        ['c', 'npm=12,apt=34'],
      ]) {
        await sql`INSERT INTO agents (id, status, hostname, os_family, os_id, os_version_id, os_arch, agent_version,
        enrolled_at, inventory_digests) VALUES (${id}, 'active', 'h', 'linux', 'debian', '12', 'amd64', '1', 1,
        ${digests})`.execute(tx);
      }
    });
    await migrate(database, { migrations: MIGRATIONS, now });
    const rows = await database.read.selectFrom('agents').select('inventory_digests').orderBy('id').execute();
    expect(rows.map((row) => row.inventory_digests)).toEqual([
      '{}',
      '{"apt":"12"}',
      '{"npm":"12","apt":"34"}',
    ]);
  },
);
