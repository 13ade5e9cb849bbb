import type { InventoryReport, InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { MaxChange } from '@tidegate/protocol/offers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { mountUpdates } from '../updates/routes.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';
import { recordParts } from './take-report.ts';

const place = '/srv/app';
const demo = { name: 'demo', current_version: '1.2.3', arch: place };
const series: InventoryUpdate = { ...demo, available_version: '1.9.2', offers: ['series'] };
const newest: InventoryUpdate = { ...demo, available_version: '3.0.0', offers: ['newest'] };

describe.each(ENGINES)('several offered versions of a package on $name', (engine) => {
  async function setUp(maxChange: MaxChange = 'any') {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const app = createSliceApp(platform);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    onTestFinished(() => app.close());
    mountInventory(app.routes, { platform, large, maxChange });
    mountUpdates(app.routes, { platform, gateOf: async () => null, heldOfPackages: async () => new Map() });
    const { agentId, familyId } = await insertTestAgent(database, { n: 1 });
    const reportOf = (updates: InventoryUpdate[]): InventoryReport => {
      platform.clock.advance(1_000);
      const scanned_at = new Date(platform.now()).toISOString();
      return {
        scanned_at,
        complete: true,
        packages: [{ name: 'demo', version: '1.2.3', arch: place }],
        updates,
      };
    };
    async function scan(...updates: InventoryUpdate[]) {
      const answer = await app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${agentId}/inventory/npm`,
        headers: { 'x-machine-id': 'machine-1', 'x-test-agent': agentId, 'x-test-family': familyId },
        payload: reportOf(updates),
      });
      expect(answer.statusCode).toBe(200);
      return answer.json().updates;
    }
    async function listed(query = '') {
      const { items } = (await app.inject({ url: `/api/v1/updates?sort=name${query}` })).json();
      return items
        .map((item: Record<string, unknown>) => `${item.available_version} ${item.change} ${item.offers}`)
        .toSorted();
    }
    const pendingOfHost = async () =>
      Number(
        (await database.read.selectFrom('host_sums').select('pending').executeTakeFirstOrThrow()).pending,
      );
    return { app, database, platform, agentId, familyId, large, reportOf, scan, listed, pendingOfHost };
  }

  test('each has a row, through any number of scans; lists and counts have the recommended one', async () => {
    const { app, scan, listed, pendingOfHost } = await setUp();
    const first = await scan(series, newest);
    expect(await scan(newest, series)).toEqual(first);
    expect(await listed()).toEqual(['3.0.0 major newest']);
    expect(await listed('&alternatives=true')).toEqual(['1.9.2 minor series', '3.0.0 major newest']);
    expect(await listed('&offer=series')).toEqual(['1.9.2 minor series']);
    expect(await listed('&max_change=minor')).toEqual(['1.9.2 minor series']);
    expect(await listed('&max_change=patch')).toEqual([]);
    expect(await pendingOfHost()).toBe(1);
    for (const { update_id: id } of first) {
      expect((await app.inject({ url: `/api/v1/updates/${id}` })).statusCode).toBe(200);
    }
    // The agent joins the recommended version alone into the transaction of all updates.
    expect(first.map((one: Record<string, unknown>) => [one.available_version, one.alternative])).toEqual([
      ['1.9.2', true],
      ['3.0.0', undefined],
    ]);
  });

  test.each([
    ['minor', '1.9.2 minor series'],
    ['patch', '1.9.2 minor series'],
    ['any', '3.0.0 major newest'],
  ] as const)('SERVICE_MAX_CHANGE=%s recommends %s', async (maxChange, expected) => {
    const { scan, listed } = await setUp(maxChange);
    await scan(series, newest);
    expect(await listed()).toEqual([expected]);
  });

  test('what is no longer offered ends, and a version that is now both has one row', async () => {
    const { scan, listed, pendingOfHost } = await setUp();
    await scan(series, newest);
    const both: InventoryUpdate = { ...series, offers: ['series', 'newest'] };
    await scan(both);
    expect(await listed('&state=superseded')).toEqual(['3.0.0 major newest']);
    expect(await listed('&state=pending')).toEqual(['1.9.2 minor series,newest']);
    await scan({ ...series, available_version: '1.9.3' }, newest);
    expect(await listed('&state=pending&alternatives=true')).toEqual([
      '1.9.3 minor series',
      '3.0.0 major newest',
    ]);
    expect(await pendingOfHost()).toBe(1);
  });

  test('the versions that a host names are charged to its budget', async () => {
    const { database, scan } = await setUp();
    await scan({ ...newest, candidates: ['1.4.9', '1.9.2', '3.0.0'] });
    const usage = database.read.selectFrom('outsider_usage').select('rows').where('kind', '=', 'reports');
    // One package, one update, three versions.
    expect(Number((await usage.executeTakeFirstOrThrow()).rows)).toBe(5);
  });

  test('a large report does the same', async () => {
    const { platform, large, agentId, reportOf, listed, pendingOfHost } = await setUp();
    const report = reportOf([series, newest]);
    const args = { agentId, ecosystem: 'npm' as const, digest: 'a'.repeat(64), sizeBytes: 9 };
    await recordParts({ platform, large, maxChange: 'minor' }, { ...args, report });
    expect(await listed()).toEqual(['1.9.2 minor series']);
    expect(await pendingOfHost()).toBe(1);
  });

  test.each([
    ['an unknown kind', { ...newest, offers: ['smallest_fix'] }],
    ['the same twice', { ...newest, offers: ['newest', 'newest'] }],
    ['too many candidates', { ...newest, candidates: Array.from({ length: 65 }, (_, n) => `2.0.${n}`) }],
  ])('a report with %s is refused', async (_, update) => {
    const { app, agentId, familyId, reportOf } = await setUp();
    const { statusCode } = await app.inject({
      method: 'PUT',
      url: `/api/v1/agents/${agentId}/inventory/npm`,
      headers: { 'x-machine-id': 'machine-1', 'x-test-agent': agentId, 'x-test-family': familyId },
      payload: { ...reportOf([]), updates: [update] },
    });
    expect(statusCode).toBe(400);
  });
});
