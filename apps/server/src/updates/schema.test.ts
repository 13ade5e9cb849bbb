import type { UpdateSortField } from '@tidegate/protocol/updates-api';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database, Db } from '../platform/db/engine.ts';
import { rangesOf } from '../platform/db/keyset.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import {
  and,
  asMeant,
  found,
  type Source,
  scannedByHost,
  scannedByPackage,
  type UpdateListFilter,
  type UpdateSelection,
  walked,
} from './filter-store.ts';
import { takenBeside } from './rivals-store.ts';
import { openOfPlans } from './siblings-store.ts';
import { updateOrder } from './sort-store.ts';
import { lastClosed } from './store.ts';

describe.each(ENGINES)('updates of a host, on $name', (engine) => {
  async function explain(database: Database, question: RawBuilder<unknown>): Promise<string> {
    const plan =
      database.engine === 'sqlite'
        ? await sql`EXPLAIN QUERY PLAN ${question}`.execute(database.read)
        : await database.transact(async (tx) => {
            await sql`SET LOCAL enable_seqscan = off`.execute(tx);
            await sql`SET LOCAL enable_sort = off`.execute(tx);
            return sql`EXPLAIN ${question}`.execute(tx);
          });
    return JSON.stringify(plan.rows);
  }

  test('an index finds those of one package among any number of others', async () => {
    const database = await engine.open();
    const question = sql`SELECT 1 FROM updates AS o WHERE o.agent_id = 'a' AND o.ecosystem = 'apt' AND o.name = 'n' AND o.id <> 'u'`;
    expect(await explain(database, question)).toMatch(
      database.engine === 'sqlite'
        ? /updates_agent \(agent_id=\? AND ecosystem=\? AND name=\?\)/
        : /Index Cond: \(\(agent_id = 'a'::text\) AND \(ecosystem = 'apt'::text\) AND \(name = 'n'::text\)\)/,
    );
  });

  test('an index finds the one of an offer that was closed last, among any number of others', async () => {
    const database = await engine.open();
    const json = `'[["curl", "amd64", "8.0-1"]]'`;
    const offers =
      database.engine === 'sqlite'
        ? `json_each(${json}) AS k`
        : `jsonb_array_elements(${json}::jsonb) AS k (value)`;
    const question = sql.raw(lastClosed(offers, { agentId: "'a'", ecosystem: "'apt'" }));
    expect(await explain(database, question)).toMatch(
      database.engine === 'sqlite'
        ? /INDEX updates_closed \(agent_id=\? AND ecosystem=\? AND name=\? AND arch=\? AND available_version=\?\)/
        : /Index Only Scan Backward using updates_closed/,
    );
  });

  test('an index alone counts the open ones of a plan', async () => {
    const database = await engine.open();
    expect(await explain(database, openOfPlans(['p', 'q']))).toMatch(
      database.engine === 'sqlite'
        ? /COVERING INDEX updates_siblings \(plan_id=\?/
        : /updates_siblings.*Index Cond: \(plan_id = ANY/,
    );
  });

  test('an index gives them by the urgency of what they fix, also those that fix what is exploited', async () => {
    const database = await engine.open();
    const order = updateOrder('urgency');
    for (const filter of [{}, { fixes_exploited: true }]) {
      const { from, where } = walked({ filter, scope: null }, { order, state: 'pending', hosts: 'many' });
      for (const range of rangesOf(order, null)) {
        const all = and([...where, ...range.where]);
        const page = sql`SELECT u.id FROM ${from} WHERE ${all} ORDER BY ${range.orderBy} LIMIT 20`;
        const plan = await explain(database, page);
        expect(plan).toContain('updates_by_fix');
        expect(plan).not.toMatch(/TEMP B-TREE|Sort Key/);
      }
    }
  });

  test('stay as long as plans and approvals refer to them', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    await insertTestUpdate(database, { agentId, n: 0, state: 'installed', expiresAtMs: 2_000 });
    const removal = database.transact((tx) =>
      tx.deleteFrom('updates').where('agent_id', '=', agentId).execute(),
    );
    await expect(removal).rejects.toThrow(/foreign key/i);
  });

  test('a closed version may be offered again, an open one may not', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const { updateId } = await insertTestUpdate(database, {
      agentId,
      n: 0,
      state: 'installed',
      expiresAtMs: 2_000,
    });
    const offerAgain = (id: string) =>
      database.transact(async (tx) => {
        const row = await tx
          .selectFrom('updates')
          .selectAll()
          .where('id', '=', updateId)
          .executeTakeFirstOrThrow();
        await tx
          .insertInto('updates')
          .values({ ...row, id, state: 'pending' })
          .execute();
      });
    await offerAgain('again');
    await expect(offerAgain('once more')).rejects.toThrow(/unique/i);
  });
});

/** The `reltuples` of a table that was never analyzed. */
const UNKNOWN = -1;

// The planner's estimate of an empty table stays until the table is analyzed again: it then scans all of it
// for every row, with cached plans.
describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('the planner of $name', (engine) => {
  test('has no estimates for the tables of a new server', async () => {
    const { read } = await engine.open();
    expect(await countedRows(read, ['agents', 'update_names', 'updates'])).toEqual([
      ['agents', UNKNOWN],
      ['update_names', UNKNOWN],
      ['updates', UNKNOWN],
    ]);
  });

  test('finds the other updates of a host by an index, however few there were when it cached its plan', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    for (let n = 0; n < 10; n++)
      await insertTestUpdate(database, { agentId, n, state: 'pending', expiresAtMs: 2_000 });
    await sql`ANALYZE`.execute(database.read);
    const read = await database.transact(async (tx) => {
      await sql`INSERT INTO updates (id, agent_id, ecosystem, name, arch, current_version, available_version, security,
          state, discovered_at, updated_at)
        SELECT 'new-' || n, ${agentId}, 'apt', 'package-' || n, 'amd64', '1', '2', 0, 'pending', 1, 1
        FROM generate_series(1, 200) AS n`.execute(tx);
      const { rows } = await sql<{
        rows: number;
      }>`SELECT pg_stat_get_xact_tuples_returned('updates'::regclass) AS rows`.execute(tx);
      return rows[0]?.rows;
    });
    expect(read).toBe(0);
  });
});

async function countedRows(db: Db, tables: readonly string[]): Promise<[string, number][]> {
  const { rows } = await sql<{
    name: string;
    rows: number;
  }>`SELECT relname AS name, reltuples AS rows FROM pg_class
    WHERE relname IN (${sql.join(tables)}) ORDER BY relname`.execute(db);
  return rows.map((row) => [row.name, row.rows]);
}

/** Filters on columns that no index starts with. */
const PARTLY_INDEXED: readonly UpdateListFilter[] = [
  { stopped_under: 'any' },
  { blocked: false },
  { introduces: true },
  { stays: false },
  { fixes: true },
  { fixes_severity: 'critical' },
  { fixes_exploited: true },
  { offer: 'newest' },
];

describe.each(ENGINES.filter(({ name }) => name === 'sqlite'))('lists of updates, on $name', (engine) => {
  test('an index finds the other versions of a package on its host, however many updates are approved', async () => {
    const database = await engine.open();
    const { rows } = await sql`EXPLAIN QUERY PLAN ${takenBeside(['u'])}`.execute(database.read);
    expect(JSON.stringify(rows)).toMatch(
      /SEARCH o USING INDEX updates_(open|agent) \(agent_id=\? AND ecosystem=\? AND name=\?/,
    );
  });

  test.each<UpdateListFilter>([
    {},
    { state: 'pending' },
    { ecosystem: 'apt' },
    { q: 'a' },
    { security: true },
    { verdict: 'clear', state: 'pending' },
    ...PARTLY_INDEXED,
  ])(
    'are counted for %j from an index alone, without what waits beside a recommended version',
    async (filter) => {
      const database = await engine.open();
      const { from, where } = found({ filter, scope: null });
      const question = sql`EXPLAIN QUERY PLAN SELECT 1 FROM ${from} WHERE ${and(where)} LIMIT 10001`;
      const { rows } = await question.execute(database.read);
      expect(JSON.stringify(rows)).toMatch(/(SCAN|SEARCH) u USING COVERING INDEX/);
    },
  );

  test.each<[UpdateListFilter, string]>([
    [{ open: true }, 'SEARCH u USING COVERING INDEX'],
    [
      { state: 'pending', stopped_under: 'any' },
      'SEARCH u USING COVERING INDEX updates_stopped (state=? AND stopped_under=?)',
    ],
    [{ state: 'pending', blocked: true }, 'SEARCH u USING INDEX updates_blocked (blocked=?)'],
  ])('are found for %j by an index of what is asked for', async (filter, plan) => {
    const database = await engine.open();
    const { from, where } = found({ filter, scope: null });
    const question = sql`EXPLAIN QUERY PLAN SELECT 1 FROM ${from} WHERE ${and(where)} LIMIT 10001`;
    expect(JSON.stringify((await question.execute(database.read)).rows)).toContain(plan);
  });

  test.each<[UpdateSortField, UpdateListFilter, string]>([
    ['name', { ecosystem: 'pypi' }, 'updates_by_name'],
    ['name', { offer: 'newest' }, 'updates_by_name'],
    ['name', { max_change: 'minor' }, 'updates_by_name'],
    ['name', { host: 'web-*' }, 'updates_by_name'],
    ['name', { os: 'debian' }, 'updates_by_name'],
    ['severity', { verdict: 'clear' }, 'updates_by_severity'],
    ['severity', { introduces: true }, 'updates_by_severity'],
    ['exploited', { verdict: 'clear' }, 'updates_by_urgency'],
    ['exploited', { severity: 'low' }, 'updates_by_urgency'],
    ['urgency', { fixes_severity: 'low' }, 'updates_by_fix'],
    ['urgency', { fixes: true }, 'updates_by_fix'],
    ['urgency', { fixes: false }, 'updates_by_fix'],
  ])('are walked by %s for %j without reading a row that is passed', async (field, filter, index) => {
    const database = await engine.open();
    const order = updateOrder(field);
    for (const hosts of ['few', 'many'] as const) {
      const { from, where, meant } = walked({ filter, scope: null }, { order, state: 'pending', hosts });
      const range = rangesOf(order, null)[0] ?? { where: [], orderBy: sql`1` };
      const question = sql`EXPLAIN QUERY PLAN ${meant ? asMeant(meant) : sql``} SELECT u.id FROM ${from}
        WHERE ${and([...where, ...range.where])} ORDER BY ${range.orderBy} LIMIT 50`;
      const plan = JSON.stringify((await question.execute(database.read)).rows);
      expect(plan).toContain(`SEARCH u USING COVERING INDEX ${index} (state=?`);
      expect(plan).not.toContain('TEMP B-TREE');
    }
  });

  test.each<[string, (selection: UpdateSelection) => Source, string]>([
    ['package', scannedByPackage, 'u.ecosystem, u.name'],
    ['host', scannedByHost, 'u.agent_id'],
  ])('are counted by %s from an index alone, whatever they are filtered by', async (_, scanned, by) => {
    const database = await engine.open();
    for (const filter of [{ exploited: true }, ...PARTLY_INDEXED]) {
      const { from, where } = scanned({ filter, scope: null });
      const question = sql`EXPLAIN QUERY PLAN SELECT count(*), max(u.fix_rank) FROM ${from} WHERE ${and(where)}
        GROUP BY ${sql.raw(by)}`;
      const plan = JSON.stringify((await question.execute(database.read)).rows);
      expect(plan).toMatch(/(SCAN|SEARCH) (u|updates) USING COVERING INDEX/);
      expect(plan).not.toContain('TEMP B-TREE');
    }
  });
});
