import type { InventoryPackage, InventoryReport } from '@tidegate/protocol/agent-api';
import type { InstalledItem, ReportItem } from '@tidegate/protocol/inventory-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { allPages } from '../testing/all-pages.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';

const ARCH = 'amd64';
const OFFER = {
  ...{ name: 'openssl', arch: ARCH, current_version: '3.0.1-1' },
  ...{ available_version: '3.0.2-1', security: true },
};
const PACKAGES: InventoryPackage[] = [
  { name: 'zlib1g', version: '1.2.13-1', arch: ARCH, held: true },
  { name: 'openssl', version: '3.0.1-1', arch: ARCH, source_name: 'openssl', source_version: '3.0.1-1' },
  { name: 'libX_1', version: '1', arch: ARCH, origin: 'Debian:12' },
  // Two versions of one package, as for kernels.
  { name: 'kernel', version: '6.2', arch: ARCH },
  { name: 'kernel', version: '6.1', arch: ARCH },
];
const REPORT: InventoryReport = {
  ...{ scanned_at: '2026-11-21T08:59:00Z', complete: true },
  packages: PACKAGES,
  updates: [OFFER, { ...OFFER, name: 'kernel', current_version: '6.2', available_version: '6.3' }],
};

describe.each(ENGINES)('what is installed on a host, on $name', (engine) => {
  async function setUp() {
    const counted = countStatements(await engine.open());
    const platform = createTestPlatform(counted.database);
    const app = createSliceApp(platform);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    mountInventory(app.routes, { platform, large });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(counted.database, { n: 1 });
    async function report(body: InventoryReport, { of = key, ecosystem = 'apt' as Ecosystem } = {}) {
      const answer = await app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${of.agentId}/inventory/${ecosystem}`,
        headers: {
          'x-machine-id': 'machine-1',
          'x-test-agent': of.agentId,
          'x-test-family': of.familyId,
        },
        payload: body,
      });
      expect(answer.statusCode).toBe(200);
    }
    async function list(query = '', of = key.agentId) {
      counted.reset();
      const answer = await app.inject({ url: `/api/v1/agents/${of}/inventory?${query}` });
      return { status: answer.statusCode, body: answer.json(), ...counted.counts() };
    }
    const found = async (query: string): Promise<string[]> =>
      (await list(query)).body.items.map(({ name, version }: InstalledItem) => `${name} ${version}`);
    return { ...counted, platform, key, report, list, found };
  }

  test('a host that has not reported yet has no report, which differs from an empty report', async () => {
    const { report, list } = await setUp();
    const nothing = { items: [], next_cursor: null, total: 0 };
    expect((await list()).body).toEqual({ ...nothing, reports: [] });
    await report({ ...REPORT, packages: [], updates: [] });
    const { reports, ...rest } = (await list()).body;
    expect(rest).toEqual(nothing);
    expect(reports).toEqual([
      {
        ecosystem: 'apt',
        scanned_at: '2026-11-21T08:59:00.000Z',
        received_at: '2026-11-21T09:00:00.000Z',
        complete: true,
        packages: 0,
        lists_confirmed_at: null,
        condition: null,
        repair_sha256: null,
      },
    ]);
  });

  test('the newest report says what is broken and what was left beside; without a word it is not known', async () => {
    const { report, list } = await setUp();
    const condition = {
      trouble: {
        reason: 'packages_broken' as const,
        detail: 'loud 1.1-1 is half-configured; as root: mend it',
      },
      broken: [{ name: 'loud', version: '1.1-1', arch: 'all', state: 'half-configured' }],
      ...{
        more_broken: 3,
        left_files: [{ path: '/etc/a.conf.dpkg-dist', package: 'a' }],
        more_left_files: 0,
      },
      unread_folders: 1,
    };
    await report({ ...REPORT, complete: false, condition });
    const said = async () => (await list()).body.reports.map((one: ReportItem) => one.condition);
    expect(await said()).toEqual([condition]);
    await report({ ...REPORT, condition: { ...condition, trouble: null, broken: [], more_broken: 0 } });
    expect(await said()).toMatchObject([{ trouble: null, unread_folders: 1 }]);
    await report({ ...REPORT, scanned_at: '2026-11-21T08:59:30Z' });
    expect(await said()).toEqual([null]);
  });

  test('a package is shown as reported, with the open update of exactly this version', async () => {
    const { report, list } = await setUp();
    await report(REPORT);
    const { body } = await list();
    const nothing = { source_name: null, source_version: null, origin: null, held: false, update: null };
    const of = { ecosystem: 'apt', arch: ARCH, ...nothing };
    const update = { id: expect.any(String), state: 'pending', verdict: null, security: true };
    expect(body.items).toEqual([
      { ...of, name: 'kernel', version: '6.1' },
      { ...of, name: 'kernel', version: '6.2', update: { ...update, available_version: '6.3' } },
      { ...of, name: 'libX_1', version: '1', origin: 'Debian:12' },
      {
        ...{ ...of, name: 'openssl', version: '3.0.1-1', source_name: 'openssl', source_version: '3.0.1-1' },
        update: { ...update, available_version: '3.0.2-1' },
      },
      { ...of, name: 'zlib1g', version: '1.2.13-1', held: true },
    ]);
    expect(body.total).toBe(5);
  });

  test('a closed update is not shown, and a rejected one is', async () => {
    const { database, report, list, found } = await setUp();
    await report(REPORT);
    const setState = (name: string, state: string) =>
      database.transact((tx) => tx.updateTable('updates').set({ state }).where('name', '=', name).execute());
    await setState('openssl', 'superseded');
    await setState('kernel', 'rejected');
    expect(await found('update=true')).toEqual(['kernel 6.2']);
    expect((await list('q=openssl')).body.items[0].update).toBeNull();
  });

  test('an update without an architecture matches every one', async () => {
    const { report, list } = await setUp();
    const { arch: _, ...offer } = OFFER;
    await report({ ...REPORT, updates: [offer] });
    expect((await list('update=true')).body.items).toMatchObject([
      { name: 'openssl', update: { available_version: '3.0.2-1' } },
    ]);
  });

  test('filters by a part of the name, the ecosystem, updates and their verdict', async () => {
    const { database, report, list, found } = await setUp();
    await report(REPORT);
    await report(
      {
        ...REPORT,
        packages: [{ name: 'left-pad', version: '1.3.0', arch: '/srv/app' }],
        updates: [],
      },
      { ecosystem: 'npm' },
    );
    await database.transact((tx) =>
      tx.updateTable('updates').set({ verdict: 'vulnerable' }).where('name', '=', 'openssl').execute(),
    );
    expect(await found('q=LIBx')).toEqual(['libX_1 1']);
    expect(await found('q=_')).toEqual(['libX_1 1']);
    expect(await found('q=%25')).toEqual([]);
    expect(await found('ecosystem=npm')).toEqual(['left-pad 1.3.0']);
    expect(await found('update=true')).toEqual(['kernel 6.2', 'openssl 3.0.1-1']);
    expect(await found('update=false&ecosystem=apt')).toEqual(['kernel 6.1', 'libX_1 1', 'zlib1g 1.2.13-1']);
    expect(await found('verdict=vulnerable')).toEqual(['openssl 3.0.1-1']);
    expect(await found('verdict=clear')).toEqual([]);
    // A pending verdict is not `unchecked` either.
    expect(await found('verdict=unchecked')).toEqual([]);
    // The filter does not change the host's reports.
    expect((await list('q=nothing')).body.reports).toHaveLength(2);
    expect((await list('update=maybe')).status).toBe(400);
    expect((await list('sort=version')).status).toBe(400);
  });

  test.each(['name', '-name'])(
    'sorted by %s its pages are complete, with six reads each whatever its length',
    async (sort) => {
      const { report, list, found } = await setUp();
      await report(REPORT);
      await report({ ...REPORT, packages: PACKAGES, updates: [] }, { ecosystem: 'dnf' });
      const whole = await found(`sort=${sort}`);
      expect(whole).toHaveLength(10);
      for (const limit of [1, 3, 10]) {
        const seen = await allPages<InstalledItem>(async (cursor) => {
          const { body, transactions, reads } = await list(`sort=${sort}&limit=${limit}${cursor}`);
          expect([transactions, reads]).toEqual([0, 6]);
          return body;
        });
        expect(seen.map(({ name, version }) => `${name} ${version}`)).toEqual(whole);
      }
    },
  );

  test('a package with values of maximum length works as a cursor', async () => {
    const { report, list } = await setUp();
    const longest = { name: '"'.repeat(214), version: '"'.repeat(256), arch: '\u0001'.repeat(256) };
    await report({ ...REPORT, packages: [longest, ...PACKAGES], updates: [] });
    const { body } = await list('limit=1');
    expect(body.items).toMatchObject([longest]);
    expect((await list(`limit=1&cursor=${body.next_cursor}`)).body.items).toMatchObject([{ name: 'kernel' }]);
  });

  test('a missing or deleted host is 404', async () => {
    const { database, list } = await setUp();
    const gone = await insertTestAgent(database, { n: 2, deletedAtMs: 1 });
    for (const id of [gone.agentId, '01900000-0000-7000-8000-00000000ffff', 'x']) {
      expect((await list('', id)).status).toBe(404);
    }
  });
});
