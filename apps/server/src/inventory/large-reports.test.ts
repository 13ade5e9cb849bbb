import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import type { InventoryReport } from '@tidegate/protocol/agent-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database, Tx } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import {
  createLargeReports,
  LARGE_COMPRESSED_BYTES,
  SMALL_REPORT_MAX_BYTES,
  WAITING_MAX,
} from './large-reports.ts';
import { recordLargeReport } from './record-large-report.ts';
import type { FromWorker } from './report-worker.ts';
import { mountInventory } from './routes.ts';

const COUNT = 4_000;
/** Maximum rows per transaction; see WRITTEN_ITEMS. */
const ROWS_MAX = 250;
/** Items that the thread hands over at once: they hold the loop. */
const MESSAGE_MAX = 1_000;

function reportOf(version: string, { count = COUNT, complete = true, offered = 0 } = {}): InventoryReport {
  const nameOf = (n: number) => `package-${String(n).padStart(5, '0')}-with-a-name-of-its-own`;
  return {
    scanned_at: '2026-11-21T08:59:00Z',
    complete,
    packages: Array.from({ length: count }, (_, n) => ({
      ...{ name: nameOf(n), version, arch: 'amd64', source_name: nameOf(n), source_version: version },
    })),
    updates: Array.from({ length: offered }, (_, n) => ({
      ...{ name: nameOf(n), arch: 'amd64', current_version: '1.0-1', available_version: '2.0-1' },
    })),
  };
}

describe.each(SAMPLED_ENGINES)('large inventory reports on $name', (engine) => {
  async function setUp({ failPartAt = Number.POSITIVE_INFINITY } = {}) {
    /** Rows that the last reports read of what is installed. */
    let read = 0;
    const tell = ({ sql, rows }: { sql: string; rows: number | null }) => {
      if (/^\s*SELECT p\./.test(sql)) read += rows ?? 0;
    };
    const database = await engine.open({ watch: { thresholdMs: 0, elapsedMs: () => 0, tell } });
    const platform = createTestPlatform(database);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    let transactions = 0;
    /** Packages that each transaction added, where it added any. */
    const added: number[] = [];
    const countPackages = async (tx: Tx) => {
      const count = tx.selectFrom('host_packages').select((e) => e.fn.countAll<number>().as('n'));
      return Number((await count.executeTakeFirstOrThrow()).n);
    };
    const counted: Database = {
      ...database,
      transact(work) {
        transactions++;
        platform.clock.advance(1);
        return database.transact(async (tx) => {
          const before = await countPackages(tx);
          const result = await work(tx);
          const more = (await countPackages(tx)) - before;
          if (more > 0 && added.push(more) === failPartAt) throw new Error('cut off');
          return result;
        });
      },
    };
    const deps = { platform: { ...platform, database: counted }, large };
    const app = createSliceApp(platform);
    mountInventory(app.routes, deps);
    onTestFinished(() => app.close());
    const key = { ...(await insertTestAgent(database, { n: 1 })), machineId: 'machine-1' };
    async function put(body: InventoryReport, options: { of?: typeof key } = {}) {
      platform.clock.advance(1_000);
      return send(gzipSync(JSON.stringify(body)), options);
    }
    function send(payload: Buffer, { of = key } = {}) {
      return app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${of.agentId}/inventory/apt`,
        headers: {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          ...{ 'x-machine-id': of.machineId, 'x-test-agent': of.agentId, 'x-test-family': of.familyId },
        },
        payload,
      });
    }
    const stored = async () => {
      const rows = await database.read.selectFrom('host_packages').select('version').execute();
      return Object.fromEntries(
        [...Map.groupBy(rows, (row) => row.version)].map(([v, all]) => [v, all.length]),
      );
    };
    const reportRow = () =>
      database.read.selectFrom('inventory_reports').selectAll().executeTakeFirstOrThrow();
    const states = async () =>
      (await database.read.selectFrom('updates').select('state').execute()).map((row) => row.state);
    const digests = async () =>
      (await database.read.selectFrom('agents').select('inventory_digests').executeTakeFirstOrThrow())
        .inventory_digests;
    return {
      database,
      platform,
      deps,
      put,
      send,
      stored,
      reportRow,
      states,
      digests,
      added,
      key,
      transactions: () => transactions,
      takeRead: () => {
        const rows = read;
        read = 0;
        return rows;
      },
    };
  }

  test('of what a host offers no more only so many stay open', async () => {
    const { database, deps, key, states } = await setUp();
    const section = { agentId: key.agentId, ecosystem: 'apt' as const };
    const record = (offers: readonly string[], digest: string) => {
      const updates = offers.map((name) => ({ name, current_version: '1.0-1', available_version: '2.0-1' }));
      const report = { ...reportOf('1.0-1', { count: 1 }), updates };
      return recordLargeReport({ ...deps, openMax: 3 }, { ...section, report, digest });
    };
    await record(['a', 'b', 'c'], '1');
    for (const n of [2, 3, 4]) await record(['c', `new-${n}`], String(n));
    const open = await database.read
      .selectFrom('updates')
      .select('name')
      .where('state', '=', 'pending')
      .orderBy('name')
      .execute();
    expect(open.map(({ name }) => name)).toEqual(['c', 'new-3', 'new-4']);
    expect((await states()).filter((state) => state === 'superseded')).toHaveLength(3);
  });

  test('one is read in a separate thread, written in many short transactions, and stored like any other', async () => {
    const it = await setUp();
    const first = reportOf('1.0-1', { offered: 600 });
    expect(JSON.stringify(first).length).toBeGreaterThan(SMALL_REPORT_MAX_BYTES);
    const answer = await it.put(first);
    expect([answer.statusCode, answer.json().updates.length]).toEqual([200, 600]);
    expect(await it.stored()).toEqual({ '1.0-1': COUNT });
    expect(Math.max(...it.added)).toBeLessThanOrEqual(ROWS_MAX);
    expect(it.transactions()).toBeGreaterThanOrEqual(COUNT / ROWS_MAX);
    const digest = createHash('sha256').update(JSON.stringify(first)).digest('hex');
    const row = { digest, complete: 1, package_count: COUNT, writing: null };
    expect(await it.reportRow()).toMatchObject(row);
    expect(await it.digests()).toBe(JSON.stringify({ apt: digest }));

    const before = it.transactions();
    expect((await it.put(first)).json().updates).toHaveLength(600);
    expect(it.transactions()).toBe(before);

    await it.put(reportOf('2.0-1'));
    expect(Math.max(...it.added)).toBeLessThanOrEqual(ROWS_MAX);
    expect(await it.stored()).toEqual({ '2.0-1': COUNT });
    expect(new Set(await it.states())).toEqual(new Set(['installed']));
    // A small report of a host with many packages is written the same way.
    const most = it.transactions();
    await it.put(reportOf('2.0-1', { count: 3 }));
    expect(await it.stored()).toEqual({ '2.0-1': 3 });
    expect(it.transactions() - most).toBeGreaterThanOrEqual(COUNT / ROWS_MAX);
    // All changes of one report have one time, whatever the number of its transactions.
    const removed = it.database.read
      .selectFrom('inventory_changes')
      .select((e) => ['changed_at', e.fn.countAll<number>().as('n')])
      .where('change', '=', 0)
      .groupBy('changed_at')
      .orderBy('changed_at', 'desc');
    expect(Number((await removed.execute())[0]?.n)).toBe(COUNT - 3);
  });

  test('of one package in many versions each stored one is read once', async () => {
    const it = await setUp();
    const versions = (of: string) => ({
      ...reportOf('1'),
      packages: Array.from({ length: COUNT }, (_, n) => ({ name: 'many', version: `${of}.${n}` })),
    });
    await it.put(versions('1'));
    expect(it.takeRead()).toBe(0);
    expect((await it.put(versions('2'))).statusCode).toBe(200);
    expect(it.takeRead()).toBe(COUNT);
    expect(Object.keys(await it.stored()).filter((version) => version.startsWith('2.'))).toHaveLength(COUNT);
  });

  test('the thread hands a report over in pieces', async () => {
    const worker = new Worker(new URL('./report-worker.ts', import.meta.url));
    onTestFinished(async () => void (await worker.terminate()));
    const body = Buffer.from(JSON.stringify(reportOf('1.0-1', { offered: 600 })));
    const sizes: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'part') sizes.push(message.packages.length + message.updates.length);
      if (message.kind === 'part' && message.isLast) resolve();
      else worker.postMessage({ kind: 'more' });
    });
    worker.postMessage({ kind: 'read', ecosystem: 'apt', body, knownDigest: null });
    await promise;
    expect(Math.max(...sizes)).toBe(MESSAGE_MAX);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(COUNT + 600);
  });

  test('an interrupted one is incomplete, closes nothing, and is complete when it is repeated', async () => {
    const it = await setUp({ failPartAt: 29 });
    await it.put(reportOf('1.0-1', { offered: 10 }));
    expect((await it.reportRow()).complete).toBe(1);
    const broken = await it.put(reportOf('2.0-1'));
    expect(broken.statusCode).toBe(500);
    expect(await it.reportRow()).toMatchObject({ complete: 0, digest: '' });
    expect(await it.digests()).toBe('{}');
    expect(new Set(await it.states())).toEqual(new Set(['pending']));
    expect((await it.stored())['1.0-1']).toBe(COUNT);
    expect((await it.put(reportOf('2.0-1'))).statusCode).toBe(200);
    expect(await it.stored()).toEqual({ '2.0-1': COUNT });
    expect(await it.reportRow()).toMatchObject({ complete: 1, writing: null });
    expect(new Set(await it.states())).toEqual(new Set(['installed']));
  });

  test('an incomplete one adds and changes packages, and removes and closes nothing', async () => {
    const it = await setUp();
    await it.put(reportOf('1.0-1', { offered: 5 }));
    await it.put(reportOf('2.0-1', { complete: false }));
    expect(await it.stored()).toEqual({ '1.0-1': COUNT, '2.0-1': COUNT });
    expect(new Set(await it.states())).toEqual(new Set(['pending']));
    expect((await it.reportRow()).complete).toBe(0);
  });

  test('of two concurrent ones on two servers the later takes over, and its content is stored', async () => {
    const it = await setUp();
    const record = (version: string) =>
      recordLargeReport(it.deps, {
        ...{ agentId: it.key.agentId, ecosystem: 'apt', report: reportOf(version), digest: version },
      });
    const outcomes = await Promise.all([record('1.0-1'), record('2.0-1')]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['overtaken', 'recorded']);
    const { digest } = await it.reportRow();
    expect(await it.stored()).toEqual({ [digest]: COUNT });
  });

  test('a host has one in progress, and the queue is bounded: the others are told to retry', async () => {
    const it = await setUp();
    const again = await Promise.all([it.put(reportOf('1.0-1')), it.put(reportOf('1.0-1'))]);
    expect(again.map((answer) => answer.statusCode).toSorted()).toEqual([200, 503]);
    // A body that is large already as sent is refused before it is read: this is not even gzip.
    const blocked = Promise.withResolvers<void>();
    const first = it.deps.large.admit(it.key.agentId, () => blocked.promise);
    const unread = await it.send(Buffer.alloc(LARGE_COMPRESSED_BYTES + 1));
    expect([unread.statusCode, unread.json().code]).toEqual([503, 'unavailable']);
    blocked.resolve();
    await first;
    expect((await it.send(Buffer.alloc(LARGE_COMPRESSED_BYTES + 1))).statusCode).toBe(400);
    const keys = await Promise.all(
      Array.from({ length: WAITING_MAX + 4 }, async (_, i) => {
        const n = i + 10;
        return { ...(await insertTestAgent(it.database, { n })), machineId: `machine-${n}` };
      }),
    );
    const answers = await Promise.all(keys.map((of) => it.put(reportOf('1.0-1'), { of })));
    const refused = answers.filter((answer) => answer.statusCode === 503);
    expect(refused).toHaveLength(2);
    expect(refused[0]?.json().code).toBe('unavailable');
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});
