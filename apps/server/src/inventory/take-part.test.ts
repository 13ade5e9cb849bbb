import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  INVENTORY_MAX_PACKAGES,
  INVENTORY_MAX_UPDATES,
  INVENTORY_PARTS_MAX_UPDATES,
} from '@tidegate/protocol/agent-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';
import { PARTS_LIFETIME_MS } from './take-part.ts';

const SCAN = { scanned_at: '2026-11-21T08:59:00Z', complete: true };

function partOf(n: number, more: object = {}): string {
  const packages = [1, 2].map((i) => ({ name: `package-${n}-${i}`, version: '1.0-1' }));
  return JSON.stringify({ ...SCAN, packages, updates: [], ...more });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function nameOf(parts: readonly string[]): string {
  return sha256(parts.map(sha256).join('\n'));
}

describe.each(ENGINES)('inventory reports in parts on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    const app = createSliceApp(platform);
    mountInventory(app.routes, { platform, large });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(database, { n: 1 });
    async function put(path: string, body: string) {
      const answer = await app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${key.agentId}/inventory/${path}`,
        headers: {
          ...{ 'content-type': 'application/json', 'content-encoding': 'gzip' },
          ...{ 'x-machine-id': 'machine-1', 'x-test-agent': key.agentId, 'x-test-family': key.familyId },
        },
        payload: gzipSync(body),
      });
      return { status: answer.statusCode, body: answer.json() };
    }
    const putPart = (
      parts: readonly string[],
      part: number,
      { of = parts.length, name = nameOf(parts) } = {},
    ) => put(`apt/parts/${name}/${part}?parts=${of}`, parts[part - 1] ?? '');
    const names = async () =>
      (await database.read.selectFrom('host_packages').select('name').orderBy('name').execute()).map(
        ({ name }) => name,
      );
    const kept = async () =>
      (await database.read.selectFrom('inventory_parts').select(['report', 'part']).execute()).length;
    return { database, platform, put, putPart, names, kept };
  }

  test('nothing counts until the last part has arrived, in any order; then it is one report', async () => {
    const { database, put, putPart, names, kept } = await setUp();
    await put('apt', partOf(9));
    const nothing = { broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 };
    const condition = { trouble: null, ...nothing };
    const parts = [partOf(1, { condition }), partOf(2, { condition }), partOf(3, { condition })];
    expect(await putPart(parts, 3)).toEqual({ status: 202, body: { accepted: true, missing: [1, 2] } });
    expect((await putPart(parts, 1)).body.missing).toEqual([2]);
    expect((await putPart(parts, 1)).body.missing).toEqual([2]);
    expect(await names()).toEqual(['package-9-1', 'package-9-2']);
    expect(await putPart(parts, 2)).toEqual({ status: 200, body: { accepted: true, updates: [] } });
    expect(await names()).toEqual([1, 2, 3].flatMap((n) => [`package-${n}-1`, `package-${n}-2`]));
    const report = await database.read.selectFrom('inventory_reports').selectAll().executeTakeFirstOrThrow();
    expect(report).toMatchObject({ digest: nameOf(parts), complete: 1, package_count: 6, writing: null });
    expect(JSON.parse(report.condition ?? '')).toEqual(condition);
    expect(await kept()).toBe(0);
    // A repetition is recognized by its name.
    expect((await putPart(parts, 2)).status).toBe(200);
    expect(await kept()).toBe(0);
  });

  test('parts that do not match the digest are dropped, and the stored report stays', async () => {
    const { put, putPart, names, kept } = await setUp();
    await put('apt', partOf(9));
    const parts = [partOf(1), partOf(2)];
    const name = nameOf([partOf(1), partOf(3)]);
    await putPart(parts, 1, { name });
    const answer = await putPart(parts, 2, { name });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect([await names(), await kept()]).toEqual([['package-9-1', 'package-9-2'], 0]);
  });

  test.each([{ scanned_at: '2026-11-21T08:58:00Z' }, { complete: false }])(
    'parts of two scans are no report: %j',
    async (more) => {
      const { putPart, names } = await setUp();
      const parts = [partOf(1), partOf(2, more)];
      await putPart(parts, 1);
      expect((await putPart(parts, 2)).body.code).toBe('invalid_request');
      expect(await names()).toEqual([]);
    },
  );

  test('another report of the ecosystem replaces an unfinished one, and so does time', async () => {
    const { platform, putPart, kept } = await setUp();
    const [first, second, third] = [
      [partOf(1), partOf(2)],
      [partOf(3), partOf(4)],
      [partOf(5), partOf(6)],
    ];
    await putPart(first, 1);
    expect((await putPart(second, 1)).body.missing).toEqual([2]);
    expect((await putPart(first, 2)).body.missing).toEqual([1]);
    expect(await kept()).toBe(1);
    platform.clock.advance(PARTS_LIFETIME_MS + 1);
    await putPart(third, 1);
    expect(await kept()).toBe(1);
  });

  test('more packages than one request takes have an error code with the limit and the route for parts', async () => {
    const { put, names } = await setUp();
    const packages = Array.from({ length: INVENTORY_MAX_PACKAGES + 1 }, (_, n) => ({
      name: `p${n}`,
      version: '1',
    }));
    const answer = await put('apt', JSON.stringify({ ...SCAN, packages, updates: [] }));
    expect([answer.status, answer.body.code]).toEqual([413, 'inventory_too_large']);
    expect(answer.body.max_packages).toBe(INVENTORY_MAX_PACKAGES);
    expect(answer.body.in_parts).toContain('/parts/{report_sha256}/{part}?parts={n}');
    expect(await names()).toEqual([]);
  });

  test.each([
    [0, 2],
    [3, 2],
    [1, 1],
    [1, 33],
  ])('part %i of %i does not exist', async (part, of) => {
    const { putPart } = await setUp();
    const answer = await putPart([partOf(1)], part, { of });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
  });

  test('all parts together have a limit, and the part that exceeds it is dropped', async () => {
    const { database, putPart, kept } = await setUp();
    const packages = Array.from({ length: INVENTORY_MAX_PACKAGES }, (_, n) => ({
      name: `p${n}`,
      version: '1',
    }));
    const parts = Array.from({ length: 11 }, () => partOf(1, { packages }));
    await putPart(parts, 1);
    await database.transact((tx) =>
      tx.updateTable('inventory_parts').set({ package_count: 190_000 }).where('piece', '=', 0).execute(),
    );
    const before = await kept();
    const answer = await putPart(parts, 2);
    expect([answer.status, answer.body.code]).toEqual([413, 'inventory_too_large']);
    expect(await kept()).toBe(before);
  });

  test('all parts together have at most so many updates; a report with more is dropped and changes nothing', async () => {
    const { database, putPart, names, kept } = await setUp();
    const parts = Array.from({ length: INVENTORY_PARTS_MAX_UPDATES / INVENTORY_MAX_UPDATES + 1 }, (_, n) =>
      partOf(n, {
        updates: Array.from({ length: INVENTORY_MAX_UPDATES }, (__, i) => ({
          ...{ name: `u${n}-${i}`, current_version: '1', available_version: '2' },
        })),
      }),
    );
    for (let part = 1; part < parts.length; part++) expect((await putPart(parts, part)).status).toBe(202);
    const answer = await putPart(parts, parts.length);
    expect([answer.status, answer.body.code]).toEqual([413, 'inventory_too_large']);
    expect([await names(), await kept()]).toEqual([[], 0]);
    expect(await database.read.selectFrom('updates').select('id').execute()).toEqual([]);
  });
});
