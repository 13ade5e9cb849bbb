import { UPDATED_HOST_SORTS, type UpdatedHostSort } from '@tidegate/protocol/updates-api';
import { describe, expect, test } from 'vitest';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Position } from '../platform/db/keyset.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertListedFleet, type ListedTestUpdate } from '../testing/listed-fleet.ts';
import { type ListedHost, listUpdatedHosts, type UpdatedHostPage, updatedHostOrder } from './host-store.ts';

const DIRECTED: readonly UpdatedHostSort[] = UPDATED_HOST_SORTS.flatMap((field) => [
  field,
  `-${field}` as const,
]);
const FILTERS: readonly [UpdatedHostPage['filter'], (row: ListedTestUpdate) => boolean][] = [
  [{}, () => true],
  [{ group: 'web' }, ({ group }) => group === 'web'],
  [{ os: 'rocky' }, ({ os }) => os === 'rocky'],
  [{ host: '*-1*' }, ({ hostname }) => hostname.includes('-1')],
  [{ agent_id: '01900000-0000-7000-8000-000000000003' }, ({ agent_id }) => agent_id.endsWith('3')],
  [{ ecosystem: 'apt' }, ({ ecosystem }) => ecosystem === 'apt'],
  [{ q: 'UR' }, ({ name }) => /ur/i.test(name)],
  [{ fixes_severity: 'critical' }, ({ fixes_severity }) => fixes_severity === 'critical'],
  [{ group: 'web', security: true }, ({ group, security }) => group === 'web' && security === 1],
];

interface Grouped {
  readonly id: string;
  readonly hostname: string;
  readonly counts: ListedHost['counts'];
}

function grouped(updates: readonly ListedTestUpdate[]): Grouped[] {
  const waiting = updates.filter(({ state, recommended }) => state === 'pending' && (recommended & 8) !== 0);
  return [...Map.groupBy(waiting, (row) => row.agent_id)].map(([id, of]) => {
    const fixing = of.filter(({ fixes }) => fixes);
    const rated = (severity: string) => fixing.filter((row) => row.fixes_severity === severity).length;
    return {
      id,
      hostname: of[0]?.hostname ?? '',
      counts: {
        pending: of.length,
        exploited: fixing.filter((row) => row.fixes_exploited === 1).length,
        critical: rated('critical'),
        high: rated('high'),
        fixing: fixing.length,
        judged: of.filter(({ fixes }) => fixes !== null).length,
      },
    };
  });
}

function comparing(sort: UpdatedHostSort): (a: Grouped, b: Grouped) => number {
  const isFalling = sort.startsWith('-') !== sort.endsWith('urgency');
  const keyOf = ({ id, hostname, counts }: Grouped): (string | number)[] => {
    if (sort.endsWith('hostname')) return [hostname, id];
    if (sort.endsWith('updates')) return [counts.pending, id];
    return [counts.exploited, counts.critical, counts.high, counts.fixing, id];
  };
  return (a, b) => {
    const right = keyOf(b);
    for (const [i, x] of keyOf(a).entries()) {
      const y = right[i] ?? '';
      if (x !== y) return x < y === isFalling ? 1 : -1;
    }
    return 0;
  };
}

/** All pages, read one after the other. */
async function pagesOf(
  db: Db,
  args: { filter: UpdatedHostPage['filter']; sort: UpdatedHostSort; scope?: GroupScope; mostHosts?: number },
): Promise<{ hosts: Grouped[]; count: number }> {
  const { sort, scope = null, ...rest } = args;
  const order = updatedHostOrder(sort);
  const hosts: Grouped[] = [];
  let [after, total]: [Position | null, number] = [null, 0];
  for (;;) {
    const { rows, count } = await listUpdatedHosts(db, { ...rest, scope, order, limit: 3, after });
    if (after === null) total = count;
    hosts.push(...rows.map(({ agent, counts }) => ({ id: agent.id, hostname: agent.hostname, counts })));
    const last = rows.at(-1);
    if (!last) return { hosts, count: total };
    after = last.position;
  }
}

describe.each(ENGINES)('the list of hosts with updates on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    return { database, updates: await insertListedFleet(database, { hosts: 14, updates: 320 }) };
  }

  test('has every host that waits in order, over all pages, for any filter and source', async () => {
    const { database, updates } = await setUp();
    for (const [filter, isMeant] of FILTERS) {
      const meant = grouped(updates.filter(isMeant));
      expect(meant.length, JSON.stringify(filter)).toBeGreaterThan(0);
      for (const sort of DIRECTED) {
        const expected = { hosts: meant.toSorted(comparing(sort)), count: meant.length };
        for (const mostHosts of [0, 100]) {
          const listed = await pagesOf(database.read, { filter, sort, mostHosts });
          expect(listed, `${JSON.stringify(filter)} by ${sort}, ${mostHosts}`).toEqual(expected);
        }
      }
    }
  });

  test('has only hosts of the groups that the caller may see', async () => {
    const { database, updates } = await setUp();
    for (const filter of [{}, { ecosystem: 'apt' }] as const) {
      const { hosts } = await pagesOf(database.read, { filter, sort: 'urgency', scope: ['web'] });
      const meant = updates.filter(
        ({ group, ecosystem }) => group === 'web' && ecosystem === (filter.ecosystem ?? ecosystem),
      );
      expect(hosts).toEqual(grouped(meant).toSorted(comparing('urgency')));
    }
  });

  test('takes the same number of statements for any number of hosts', async () => {
    const { database: opened } = await setUp();
    const { database, counts, reset } = countStatements(opened);
    const page = { filter: {}, scope: null, order: updatedHostOrder(), after: null };
    for (const limit of [1, 10]) {
      reset();
      await listUpdatedHosts(database.read, { ...page, limit });
      expect(counts()).toEqual({ transactions: 0, statements: 0, reads: 2 });
    }
  });
});
