import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { insertListedFleet } from '../testing/listed-fleet.ts';
import { and, ofPackage, type Source, scannedByPackage, walked } from './filter-store.ts';
import { updateOrder } from './sort-store.ts';

const FILTERS: readonly UpdateFilter[] = [
  { state: 'pending' },
  { ecosystem: 'apt' },
  { name: 'curl' },
  { q: 'c' },
  { since: '1970-01-01T00:00:01Z' },
  { os: 'debian' },
];

// What no index answers is asked in a form (`|| ''`, `+ 0`) of which a planner knows nothing by itself: migration 76.
describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('the planner of $name', (engine) => {
  test.each(FILTERS)('knows how many updates are %j, as lists ask it', async (filter) => {
    const database = await engine.open();
    await insertListedFleet(database, { hosts: 14, updates: 2_000 });
    await sql`ANALYZE updates`.execute(database.read);
    const selection = { filter, scope: null };
    const order = updateOrder('discovered_at');
    const sources: Pick<Source, 'from' | 'where'>[] = [
      { from: sql`updates AS u`, where: ofPackage(selection) },
      walked(selection, { order, state: filter.state ?? 'pending', hosts: 'many' }),
      ...(filter.q === undefined ? [scannedByPackage(selection)] : []),
    ];
    for (const { from, where } of sources) {
      const rows = sql`SELECT u.agent_id FROM ${from} WHERE ${and(where)}`;
      const { rows: found } = await sql`${rows}`.execute(database.read);
      const { rows: plan } = await sql<{
        'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }];
      }>`EXPLAIN (FORMAT json) ${rows}`.execute(database.read);
      const expected = plan[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
      expect(found.length).toBeGreaterThan(10);
      expect(expected).toBeGreaterThan(found.length / 3);
      expect(expected).toBeLessThan(found.length * 3);
    }
  });
});
