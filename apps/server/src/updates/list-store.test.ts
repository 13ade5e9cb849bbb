import { UPDATE_SORTS, type UpdateSort } from '@tidegate/protocol/updates-api';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { changeTags, saveReportedTags } from '../agents/tag-store.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Position } from '../platform/db/keyset.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertListedFleet, type ListedTestUpdate } from '../testing/listed-fleet.ts';
import {
  and,
  ofPackage,
  type Source,
  scannedByPackage,
  type UpdateListFilter,
  walked,
} from './filter-store.ts';
import { countUpdates, listUpdates } from './list-store.ts';
import { updateOrder, updatePosition } from './sort-store.ts';

const DIRECTED: readonly UpdateSort[] = UPDATE_SORTS.flatMap((field) => [field, `-${field}` as const]);
const FILTERS: readonly [UpdateListFilter, (row: ListedTestUpdate) => boolean][] = [
  [{}, () => true],
  [{ state: 'pending' }, ({ state }) => state === 'pending'],
  [{ ecosystem: 'npm' }, ({ ecosystem }) => ecosystem === 'npm'],
  [{ name: 'curl' }, ({ name }) => name === 'curl'],
  [{ name: 'Curl', ecosystem: 'apt' }, ({ name, ecosystem }) => name === 'Curl' && ecosystem === 'apt'],
  [{ q: 'UR' }, ({ name }) => /ur/i.test(name)],
  [{ q: '_' }, ({ name }) => name.includes('_')],
  [{ severity: 'high' }, ({ severity }) => severity === 'high'],
  [{ verdict: 'clear' }, ({ verdict }) => verdict === 'clear'],
  [{ security: true }, ({ security }) => security === 1],
  [{ exploited: true }, ({ known_exploited }) => known_exploited === 1],
  [{ exploited: 'false' }, ({ known_exploited }) => known_exploited === 0],
  [{ introduces: true }, ({ introduces }) => introduces === 2],
  [{ introduces: 'false' }, ({ introduces }) => introduces === 0],
  [{ stays: true, fixes: false }, ({ stays, fixes }) => stays === 1 && fixes === 0],
  [{ fixes: 'true', state: 'pending' }, ({ fixes, state }) => fixes === 9 && state === 'pending'],
  [{ fixes_severity: 'critical' }, ({ fixes_severity }) => fixes_severity === 'critical'],
  [{ fixes_exploited: true }, ({ fixes_exploited }) => fixes_exploited === 1],
  [
    { fixes_exploited: 'false', state: 'pending' },
    ({ fixes_exploited, state }) => fixes_exploited === 0 && state === 'pending',
  ],
  [{ open: true }, ({ state }) => isOpen(state)],
  [
    { open: 'false', since: '1970-01-01T00:00:03Z' },
    (row) => !isOpen(row.state) && row.discovered_at >= 3_000,
  ],
  [{ open: 'true', state: 'failed' }, ({ state }) => state === 'failed'],
  [{ open: 'false', state: 'pending' }, () => false],
  [{ stopped_under: 'introduced' }, ({ stopped_under: under }) => under === 'introduced'],
  [{ stopped_under: 'any' }, ({ stopped_under: under }) => under === 'introduced' || under === 'any'],
  [{ blocked: true, state: 'pending' }, ({ blocked, state }) => blocked && state === 'pending'],
  [{ blocked: 'true', os: 'rocky' }, ({ blocked, os }) => blocked && os === 'rocky'],
  [{ blocked: 'false' }, ({ blocked }) => !blocked],
  [{ offer: 'newest' }, ({ offers }) => [2, 3, 6, 7].includes(offers)],
  [{ offer: 'smallest_fix', state: 'pending' }, ({ offers, state }) => offers > 3 && state === 'pending'],
  [{ max_change: 'minor' }, ({ recommended }) => recommended !== 0],
  [{ max_change: 'patch', state: 'pending' }, (row) => row.recommended % 2 === 1 && row.state === 'pending'],
  [{ alternatives: true }, () => true],
  [{ alternatives: 'false' }, isShown],
  [
    { alternatives: 'true', state: 'pending', os: 'debian' },
    (row) => row.state === 'pending' && row.os === 'debian',
  ],
  [{ os: 'rocky' }, ({ os }) => os === 'rocky'],
  [{ tag: 'os=rocky' }, ({ os }) => os === 'rocky'],
  [{ tag: 'host.os=rocky', q: 'l' }, ({ os, name }) => os === 'rocky' && name.includes('l')],
  [{ tag: 'os=debian' }, () => false],
  [{ group: 'web' }, ({ group }) => group === 'web'],
  [{ host: 'Web-*' }, ({ hostname }) => /^web-/i.test(hostname)],
  [{ host: '*-1*' }, ({ hostname }) => hostname.includes('-1')],
  [{ host: 'db-3' }, ({ hostname }) => hostname.toLowerCase() === 'db-3'],
  [{ since: '1970-01-01T00:00:03Z' }, (row) => row.discovered_at >= 3_000],
  [
    { until: '1970-01-01T00:00:03Z', state: 'failed' },
    (row) => row.discovered_at < 3_000 && row.state === 'failed',
  ],
  [
    { verdict: 'vulnerable', os: 'debian', q: 'l' },
    (row) => row.verdict === 'vulnerable' && row.os === 'debian' && row.name.includes('l'),
  ],
];

function isOpen(state: string): boolean {
  return !['installed', 'rejected', 'superseded'].includes(state);
}

/** Without a word about them a list omits what waits beside the recommended version. */
function isShown({ state, recommended }: ListedTestUpdate): boolean {
  return state !== 'pending' || recommended >= 8;
}

/** The rows that a list of the filter has. */
function listed([filter, isMeant]: (typeof FILTERS)[number], rows: readonly ListedTestUpdate[]) {
  const isAsked = 'alternatives' in filter || 'offer' in filter || 'max_change' in filter;
  return rows.filter((row) => isMeant(row) && (isAsked || isShown(row)));
}

describe.each(ENGINES)('the list of updates on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const rows = await insertListedFleet(database, { hosts: 14, updates: 160 });
    await database.transact(async (tx) => {
      for (const agentId of new Set(
        rows.filter(({ os }) => os === 'rocky').map(({ agent_id }) => agent_id),
      )) {
        await changeTags(tx, { agentId, set: ['os=rocky'], remove: [], by: 'ada', atMs: 1 });
        await saveReportedTags(tx, { agentId, tags: ['host.os=rocky'] });
      }
    });
    return { database, rows };
  }

  /** The ids of all pages, read one after the other. */
  async function pagesOf(
    { read }: Pick<Database, 'read'>,
    args: { filter: UpdateListFilter; sort: UpdateSort; mostSorted: number },
  ) {
    const order = updateOrder(args.sort);
    const ids: string[] = [];
    let after: Position | null = null;
    for (;;) {
      const page = { filter: args.filter, scope: null, order, limit: 23, after, mostSorted: args.mostSorted };
      const { rows } = await listUpdates(read, page);
      ids.push(...rows.map(({ id }) => id));
      const last = rows.at(-1);
      if (!last) return ids;
      after = updatePosition(order, last);
    }
  }

  test.each(DIRECTED)(
    'sorted by %s gives every row once and in order, found or walked, with any filter',
    async (sort) => {
      const { database, rows } = await setUp();
      for (const [filter, isMeant] of FILTERS) {
        const expected = listed([filter, isMeant], rows)
          .toSorted(comparing(sort))
          .map(({ id }) => id);
        for (const mostSorted of [0, 10_000]) {
          expect(
            await pagesOf(database, { filter, sort, mostSorted }),
            JSON.stringify({ filter, mostSorted }),
          ).toEqual(expected);
        }
      }
    },
  );

  test('counts the rows of a filter', async () => {
    const { database, rows } = await setUp();
    for (const [filter, isMeant] of FILTERS) {
      expect(await countUpdates(database.read, { filter, scope: null })).toBe(
        listed([filter, isMeant], rows).length,
      );
    }
  });

  test('applies the scope of the caller beside every filter', async () => {
    const { database, rows } = await setUp();
    for (const [filter, isMeant] of FILTERS) {
      const own = listed([filter, isMeant], rows)
        .filter(({ group }) => group === 'web')
        .toSorted(comparing('-discovered_at'));
      for (const mostSorted of [0, 10_000]) {
        const page = { filter, order: updateOrder(), limit: 500, after: null, mostSorted };
        const bound = await listUpdates(database.read, { ...page, scope: ['web', 'other'] });
        expect(bound.rows.map(({ id }) => id)).toEqual(own.map(({ id }) => id));
        expect((await listUpdates(database.read, { ...page, scope: [] })).rows).toEqual([]);
      }
    }
  });

  test('takes as many statements for a page of 100 rows as for one of 1', async () => {
    const { database: opened } = await setUp();
    const { database, counts, reset } = countStatements(opened);
    for (const sort of DIRECTED) {
      for (const mostSorted of [0, 10_000]) {
        const page = { filter: {}, scope: null, order: updateOrder(sort), after: null, mostSorted };
        const reads = [];
        for (const limit of [1, 100]) {
          reset();
          await listUpdates(database.read, { ...page, limit });
          reads.push(counts().reads);
        }
        // Rows with a null sort key are a separate statement.
        expect(Math.max(...reads)).toBeLessThanOrEqual(mostSorted === 0 ? 4 : 3);
      }
    }
  });
});

const RANKS: readonly (string | null)[] = ['unknown', 'none', 'low', 'medium', 'high', 'critical'];

/** The expected order: null is last, texts sort by their bytes, and the id breaks ties. */
function comparing(sort: UpdateSort): (a: ListedTestUpdate, b: ListedTestUpdate) => number {
  const isFalling = sort.startsWith('-') !== /severity|exploited|urgency/.test(sort);
  const keyOf = (row: ListedTestUpdate): (string | number | null)[] => {
    const rank = row.severity === null ? null : RANKS.indexOf(row.severity);
    switch (sort.replace('-', '')) {
      case 'severity':
        return [rank, row.id];
      case 'exploited':
        return [row.queue_rank, row.discovered_at, row.id];
      case 'urgency':
        return [row.fix_rank, -row.discovered_at, row.id];
      case 'hostname':
        return [row.hostname, row.id];
      case 'name':
        return [row.name, row.id];
      case 'state':
        return [row.state, row.id];
      case 'updated_at':
        return [row.updated_at, row.id];
      default:
        return [row.discovered_at, row.id];
    }
  };
  return (a, b) => {
    const [left, right] = [keyOf(a), keyOf(b)];
    for (const [i, x] of left.entries()) {
      const y = right[i] ?? null;
      if (x === y) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      const order =
        typeof x === 'number' ? x - Number(y) : Buffer.compare(Buffer.from(x), Buffer.from(String(y)));
      if (order !== 0) return isFalling ? -order : order;
    }
    return 0;
  };
}

const PLANNED: readonly UpdateListFilter[] = [
  { state: 'pending' },
  { ecosystem: 'apt' },
  { name: 'curl' },
  { q: 'c' },
  { since: '1970-01-01T00:00:01Z' },
  { os: 'debian' },
];

// Queries without an index use forms (`|| ''`, `+ 0`) that planners estimate only by statistics (schema.ts).
describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('the planner of $name', (engine) => {
  test.each(PLANNED)('estimates how many updates are %j, in the form that lists use', async (filter) => {
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
