import { PACKAGE_SORTS, type PackageSort } from '@tidegate/protocol/updates-api';
import { describe, expect, test } from 'vitest';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Position } from '../platform/db/keyset.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertListedFleet, type ListedTestUpdate } from '../testing/listed-fleet.ts';
import type { UpdateListFilter } from './filter-store.ts';
import { type ListedPackage, listPackages, packageOrder } from './package-store.ts';
import { fixedTogether, SEVERITIES_RISING } from './queue-rules.ts';

const DIRECTED: readonly PackageSort[] = PACKAGE_SORTS.flatMap((field) => [field, `-${field}` as const]);
const FILTERS: readonly [UpdateListFilter, (row: ListedTestUpdate) => boolean][] = [
  [{}, () => true],
  [{ ecosystem: 'npm' }, ({ ecosystem }) => ecosystem === 'npm'],
  [{ name: 'curl' }, ({ name }) => name === 'curl'],
  [{ q: 'UR' }, ({ name }) => /ur/i.test(name)],
  [{ q: '_', ecosystem: 'apt' }, ({ name, ecosystem }) => name.includes('_') && ecosystem === 'apt'],
  [{ state: 'pending' }, ({ state }) => state === 'pending'],
  [{ open: true }, ({ state }) => !['installed', 'rejected', 'superseded'].includes(state)],
  [{ state: 'awaiting_plan', open: 'true' }, ({ state }) => state === 'awaiting_plan'],
  [{ state: 'installed', ecosystem: 'npm' }, (row) => row.state === 'installed' && row.ecosystem === 'npm'],
  [{ state: 'failed', q: 'l' }, ({ state, name }) => state === 'failed' && name.includes('l')],
  [{ severity: 'high' }, ({ severity }) => severity === 'high'],
  [{ security: true, name: 'zlib' }, ({ security, name }) => security === 1 && name === 'zlib'],
  [{ introduces: 'true' }, ({ introduces }) => introduces === 2],
  [{ exploited: 'false' }, ({ known_exploited }) => known_exploited === 0],
  [{ os: 'rocky' }, ({ os }) => os === 'rocky'],
  [{ group: 'web', verdict: 'clear' }, ({ group, verdict }) => group === 'web' && verdict === 'clear'],
  [{ host: '*-1*', q: 'e' }, ({ hostname, name }) => hostname.includes('-1') && /e/i.test(name)],
  [{ agent_id: '01900000-0000-7000-8000-000000000003' }, ({ agent_id }) => agent_id.endsWith('3')],
  [{ since: '1970-01-01T00:00:03Z' }, ({ discovered_at }) => discovered_at >= 3_000],
];

/** All pages, read one after the other. */
async function pagesOf(
  db: Db,
  args: { filter: UpdateListFilter; sort: PackageSort; scope?: GroupScope; mostHosts?: number },
): Promise<ListedPackage[]> {
  const { sort, scope = null, ...rest } = args;
  const order = packageOrder(sort);
  const all: ListedPackage[] = [];
  let after: Position | null = null;
  for (;;) {
    const { rows } = await listPackages(db, { ...rest, scope, order, limit: 4, after });
    all.push(...rows);
    const last = rows.at(-1);
    if (!last) return all;
    after = last.key;
  }
}

function rolledUp(updates: readonly ListedTestUpdate[]) {
  return [...Map.groupBy(updates, ({ ecosystem, name }) => `${ecosystem}/${name}`)].map(([, of]) => {
    const known = of.flatMap(({ known_exploited: flag }) => flag ?? []);
    const waiting = of.filter(({ state }) => state === 'pending' || state === 'awaiting_plan');
    const fixRanks = waiting.map((row) => row.fix_rank).toSorted((a, b) => a - b);
    const rank = Math.max(...of.map(({ severity }) => (severity ? SEVERITIES_RISING.indexOf(severity) : -1)));
    return {
      ecosystem: of[0]?.ecosystem ?? '',
      name: of[0]?.name ?? '',
      hosts: new Set(of.map((row) => row.agent_id)).size,
      updates: of.length,
      availableVersions: new Set(of.map((row) => row.available_version)).size,
      newestUpdateAtMs: Math.max(...of.map((row) => row.discovered_at)),
      security: of.some((row) => row.security === 1),
      severity: SEVERITIES_RISING[rank] ?? null,
      knownExploited: known.length === 0 ? null : known.includes(1),
      fixed: fixedTogether(fixRanks.at(0) ?? null, fixRanks.at(-1) ?? null),
      fixRank: fixRanks.at(-1) ?? null,
      states: Object.fromEntries([...Map.groupBy(of, ({ state }) => state)].map(([k, v]) => [k, v.length])),
    };
  });
}

type Rolled = ReturnType<typeof rolledUp>[number];

/** The expected order: null is last, and names and ecosystems sort by their bytes. */
function comparing(sort: PackageSort): (a: Rolled, b: Rolled) => number {
  const isFalling = sort.startsWith('-') !== /severity|urgency/.test(sort);
  const keyOf = (row: Rolled): (string | number | null)[] => {
    const rank = row.severity === null ? null : SEVERITIES_RISING.indexOf(row.severity);
    const measures = {
      name: 0,
      hosts: row.hosts,
      updates: row.updates,
      newest: row.newestUpdateAtMs,
      severity: rank,
      urgency: row.fixRank,
    };
    const [, measure] = Object.entries(measures).find(([field]) => sort.endsWith(field)) ?? [];
    return [measure ?? null, row.name, row.ecosystem];
  };
  return (a, b) => {
    const right = keyOf(b);
    for (const [i, x] of keyOf(a).entries()) {
      const y = right[i] ?? null;
      if (x === y) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      const byBytes = Buffer.compare(Buffer.from(String(x)), Buffer.from(String(y)));
      const order = typeof x === 'number' ? x - Number(y) : byBytes;
      return isFalling ? -order : order;
    }
    return 0;
  };
}

// Counting the updates of 5,000 hosts took ten times as long.
test('updates of a state are not counted where the sums say that a package has no others', async () => {
  const asked: string[] = [];
  const [sqlite] = ENGINES;
  const watch = { thresholdMs: 0, elapsedMs: () => 0, tell: ({ sql }: { sql: string }) => asked.push(sql) };
  const database = await sqlite?.open({ watch });
  if (!database) throw new Error('there is no engine');
  const updates = await insertListedFleet(database, { hosts: 14, updates: 160 });
  const state = 'pending';
  const rest = updates.filter((row) => row.state !== state).map(({ id }) => id);
  await database.transact((tx) => tx.deleteFrom('updates').where('id', 'in', rest).execute());
  for (const sort of ['name', 'updates', 'urgency'] as const) {
    asked.length = 0;
    const page = {
      filter: { state },
      scope: null,
      order: packageOrder(sort),
      limit: 50,
      after: null,
    } as const;
    expect((await listPackages(database.read, page)).rows.length).toBeGreaterThan(1);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((sql) => sql.includes('GROUP BY u.ecosystem'))).toEqual([]);
  }
});

describe.each(ENGINES)('the list of packages on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    return { database, updates: await insertListedFleet(database, { hosts: 14, updates: 160 }) };
  }
  const shown = (rows: readonly (Rolled | ListedPackage)[]) =>
    rows.map((row) => ({ ...row, key: undefined, fixRank: undefined }));

  test('has every package in order, over all pages, for any filter and source', async () => {
    const { database, updates } = await setUp();
    for (const [filter, isMeant] of FILTERS) {
      const meant = rolledUp(updates.filter(isMeant));
      expect(meant.length).toBeGreaterThan(0);
      for (const sort of DIRECTED) {
        const expected = shown(meant.toSorted(comparing(sort)));
        for (const mostHosts of [0, 100]) {
          const listed = await pagesOf(database.read, { filter, sort, mostHosts });
          expect(shown(listed), `${JSON.stringify(filter)} ${sort} ${mostHosts}`).toEqual(expected);
        }
      }
    }
  });

  test('counts the packages, without those out of the scope', async () => {
    const { database, updates } = await setUp();
    const page = { filter: {}, order: packageOrder(), limit: 2, after: null };
    const all = await listPackages(database.read, { ...page, scope: null });
    expect(all.count).toBe(rolledUp(updates).length);
    const own = rolledUp(updates.filter(({ group }) => group === 'web'));
    for (const mostHosts of [0, 100]) {
      const scoped = await pagesOf(database.read, { filter: {}, sort: '-hosts', scope: ['web'], mostHosts });
      expect(shown(scoped)).toEqual(shown(own.toSorted(comparing('-hosts'))));
    }
    expect(await listPackages(database.read, { ...page, scope: [] })).toEqual({ rows: [], count: 0 });
  });

  test('takes as many statements for a page of 100 rows as for one of 1', async () => {
    const { database: opened } = await setUp();
    const { database, counts, reset } = countStatements(opened);
    for (const filter of [{}, { state: 'pending' }, { os: 'rocky' }] satisfies UpdateListFilter[]) {
      const reads: number[] = [];
      for (const limit of [1, 100]) {
        reset();
        const page = { filter, scope: null, order: packageOrder('-hosts'), after: null, limit };
        await listPackages(database.read, page);
        reads.push(counts().reads);
      }
      expect(new Set(reads).size).toBe(1);
      expect(reads[0]).toBeLessThanOrEqual(3);
    }
  });
});
