import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import { migrate } from '../platform/db/migrate.ts';
import { createRowSeals, sealedDatabase } from '../platform/db/row-seals.ts';
import { sealRows } from '../platform/db/seal-rows.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { MIGRATIONS } from './migrations.ts';

const now = () => 1_000;
const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

describe.each(ENGINES)('divergences of the first ledger, on $name', (engine) => {
  test.each([
    ['open', ['disputed', 'disputed'], [A, B], 1],
    ['decided', ['accepted', 'refused'], [B], 0],
    // A third hash had opened it again; what was accepted keeps passing.
    ['open', ['accepted', 'disputed'], [B], 1],
  ])('%s, %j: what was blocked stays blocked', async (state, standings, blocked, waiting) => {
    const seals = createRowSeals(() => Buffer.alloc(32, 9));
    const database = sealedDatabase(await engine.openEmpty(), seals);
    await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version < 80), now });
    const agents = [
      (await insertTestAgent(database, { n: 1 })).agentId,
      (await insertTestAgent(database, { n: 2 })).agentId,
    ];
    const decidedAt = state === 'decided' ? 700 : null;
    await database.transact(async (tx) => {
      await sql`INSERT INTO artifacts VALUES
        ('apt/debian', 'x', '1', 'amd64', 'sha256', ${A}, ${agents[0]}, NULL, 'u', 500)`.execute(tx);
      await sql`INSERT INTO artifact_divergences VALUES
        ('d', 'apt', 'apt/debian', 'x', '1', 'amd64', 'sha256', ${state}, 2, 600, ${decidedAt},
        ${decidedAt && 'ada'}, ${decidedAt && 'looked at both'}, NULL)`.execute(tx);
      for (const [i, hash] of [A, B].entries()) {
        await sql`INSERT INTO artifact_divergent_hashes VALUES
          ('d', ${hash}, ${standings[i]}, ${agents[i]}, NULL, 'u', ${500 + i})`.execute(tx);
      }
    });
    await migrate(database, { migrations: MIGRATIONS, now });
    await database.transact((tx) => sealRows(tx, 'missing'));
    const sightings = [A, B].map((hash) => ({
      ...({ ecosystem: 'apt', scope: 'apt/debian', name: 'x', version: '1', variant: 'amd64' } as const),
      ...({ algorithm: 'sha256', hash, origin: null, url: 'u' } as const),
    }));
    const [bound = []] = await readBoundDivergences(database.read, [{ agentId: agents[0] ?? '', sightings }]);
    expect(bound.map(({ hash }) => hash)).toEqual(blocked);
    const open = database.read.selectFrom('artifact_divergences').select('id').where('state', '=', 'open');
    expect(await open.execute()).toHaveLength(waiting);
    const queue = await database.read.selectFrom('artifact_enforcements').select('subject').execute();
    expect(queue).toEqual([{ subject: 'd' }]);
  });
});
