import { createHash } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { InventoryReport } from '@tidegate/protocol/agent-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertTestAgent, insertTestUpdate, voidedApprovals } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';

const report: InventoryReport = {
  scanned_at: '2026-11-21T08:59:00Z',
  complete: true,
  packages: [
    { name: 'openssl', version: '3.0.1-1', arch: 'amd64', source_name: 'openssl', source_version: '3.0.1-1' },
    { name: 'zlib1g', version: '1.2.13-1', arch: 'amd64', held: true },
  ],
  updates: [
    {
      name: 'openssl',
      arch: 'amd64',
      current_version: '3.0.1-1',
      available_version: '3.0.2-1',
      security: true,
    },
  ],
};

describe.each(ENGINES)('inventory reports on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    let transactions = 0;
    const counted = {
      ...platform,
      database: {
        ...database,
        transact: (work: Parameters<typeof database.transact>[0]) => {
          transactions++;
          return database.transact(work);
        },
      } as typeof database,
    };
    const app = createSliceApp(counted);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    mountInventory(app.routes, { platform: counted, large });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(database, { n: 1 });
    async function put(body: unknown, { encoding = 'identity', ecosystem = 'apt', of = key.agentId } = {}) {
      platform.clock.advance(1_000);
      const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const payload =
        encoding === 'gzip' ? gzipSync(json) : encoding === 'zstd' ? zstdCompressSync(json) : json;
      return app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${of}/inventory/${ecosystem}`,
        headers: {
          'content-type': 'application/json',
          ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
          'x-machine-id': 'machine-1',
          'x-test-agent': key.agentId,
          'x-test-family': key.familyId,
        },
        payload,
      });
    }
    const stored = () =>
      database.read
        .selectFrom('host_packages')
        .select(['ecosystem', 'name', 'version', 'held'])
        .orderBy('name')
        .execute();
    return { database, platform, put, stored, key, transactions: () => transactions };
  }

  test.each(['identity', 'gzip', 'zstd'])(
    'a report in %s is stored and answered with its updates',
    async (encoding) => {
      const { database, put, stored, key } = await setUp();
      const response = await put(report, { encoding });
      expect(response.statusCode).toBe(200);
      expect(response.json()).toEqual({
        accepted: true,
        updates: [{ update_id: expect.any(String), name: 'openssl', available_version: '3.0.2-1' }],
      });
      expect(await stored()).toEqual([
        { ecosystem: 'apt', name: 'openssl', version: '3.0.1-1', held: 0 },
        { ecosystem: 'apt', name: 'zlib1g', version: '1.2.13-1', held: 1 },
      ]);
      const digest = createHash('sha256').update(JSON.stringify(report)).digest('hex');
      const agent = await database.read
        .selectFrom('agents')
        .select('inventory_digests')
        .where('id', '=', key.agentId)
        .executeTakeFirst();
      expect(agent?.inventory_digests).toBe(JSON.stringify({ apt: digest }));
    },
  );

  test('identical bytes are answered from the stored report, without a transaction', async () => {
    const { put, transactions } = await setUp();
    const first = await put(report);
    // The host's daily budget, and the report.
    expect(transactions()).toBe(2);
    const again = await put(report, { encoding: 'gzip' });
    expect(again.json()).toEqual(first.json());
    expect(transactions()).toBe(2);
  });

  test.each(['failed', 'pending', 'installing'])(
    'an update that became %s since is closed by identical bytes that show it installed, and by no others',
    async (state) => {
      const { database, platform, put } = await setUp();
      const [update] = (await put(report)).json().updates;
      const after = {
        ...report,
        packages: [{ name: 'openssl', version: '3.0.2-1', arch: 'amd64' }],
        updates: [],
      };
      const force = (to: string) => {
        platform.clock.advance(1_000);
        const set = { state: to, updated_at: platform.now() };
        return database.transact((tx) =>
          tx.updateTable('updates').set(set).where('id', '=', update.update_id).execute(),
        );
      };
      const now = () =>
        database.read.selectFrom('updates').select('state').where('id', '=', update.update_id).execute();
      await force('rejected');
      expect((await put(after)).json().updates).toHaveLength(1); // an operator has decided
      await force(state);
      expect((await put({ ...after, complete: false })).json().updates).toHaveLength(1);
      await force('rejected');
      await put(after);
      await force(state);
      expect((await put(after)).json().updates).toEqual([]);
      expect(await now()).toEqual([{ state: 'installed' }]);
    },
  );

  test('only the differences are written: new, changed and removed packages', async () => {
    const { put, stored } = await setUp();
    await put(report);
    const packages = [
      { name: 'openssl', version: '3.0.2-1', arch: 'amd64' },
      { name: 'zlib1g', version: '1.2.13-1', arch: 'amd64' },
      { name: 'curl', version: '8.0-1', arch: 'amd64' },
      { name: 'curl', version: '8.0-1', arch: 'amd64' },
    ];
    await put({ ...report, packages, updates: [] });
    expect((await stored()).map((row) => [row.name, row.version, row.held])).toEqual([
      ['curl', '8.0-1', 0],
      ['openssl', '3.0.2-1', 0],
      ['zlib1g', '1.2.13-1', 0],
    ]);
  });

  test('an incomplete report removes no package and closes no update', async () => {
    const { database, put, stored } = await setUp();
    await put(report);
    const response = await put({ ...report, complete: false, packages: [], updates: [] });
    expect(response.json()).toMatchObject({ updates: [{ name: 'openssl' }] });
    expect((await stored()).length).toBe(2);
    const states = await database.read.selectFrom('updates').select('state').execute();
    expect(states).toEqual([{ state: 'pending' }]);
  });

  test('an approved update that a scan closes loses its commands and its token', async () => {
    const { database, put, key } = await setUp();
    const { agentId } = key;
    const { updateId } = await insertTestUpdate(database, {
      agentId,
      n: 5,
      state: 'approved',
      expiresAtMs: Date.UTC(2099, 0),
    });
    const command = { id: 'c', agent_id: agentId, action: 'install_update', params: '{}', status: 'pending' };
    const times = { created_by: 'ada', created_at: 1, not_before: 1, expires_at: 9e15 };
    await writeRaw(database, 'agent_commands', { ...command, ...times });
    await writeRaw(database, 'command_updates', { command_id: 'c', update_id: updateId });
    await put({ ...report, packages: [{ name: 'package-5', version: '1.1-1', arch: 'amd64' }], updates: [] });
    expect(await voidedApprovals(database.read)).toEqual([
      { update_id: updateId, void_reason: 'closed_by_scan' },
    ]);
    const row = await database.read
      .selectFrom('agent_commands')
      .select(['status', 'reason'])
      .executeTakeFirst();
    expect(row).toEqual({ status: 'cancelled', reason: 'closed_by_scan' });
  });

  test.each([
    ['an unknown field', { ...report, extra: 1 }],
    ['a wrong type', { ...report, complete: 'yes' }],
    ['a duplicate key', `{"complete":true,${JSON.stringify(report).slice(1)}`],
    ['no JSON', '{'],
    ['a bidirectional name', { ...report, packages: [{ name: 'a\u202etxt', version: '1' }] }],
    ['a version with an invisible character', { ...report, packages: [{ name: 'a', version: '1\u200b' }] }],
    [
      'a plan without an artifact',
      {
        ...report,
        updates: [
          {
            ...report.updates[0],
            plan: {
              resolved_at: report.scanned_at,
              actions: [{ action: 'upgrade', name: 'openssl', to_version: '3.0.2-1' }],
            },
          },
        ],
      },
    ],
  ])('%s is 400 and changes nothing', async (_, body) => {
    const { put, stored } = await setUp();
    const response = await put(body);
    expect(response.statusCode).toBe(400);
    expect(response.json().code).toBe('invalid_request');
    expect(response.json().errors.length).toBeGreaterThan(0);
    expect(await stored()).toEqual([]);
  });

  test('a package bundled in a missing one, or two files of one name, are 400', async () => {
    const { put, stored } = await setUp();
    const artifact = {
      filename: 'kit.tgz',
      url: 'https://r.test/kit',
      size_bytes: 1,
      sha512: 'a'.repeat(128),
    };
    const kit = { action: 'upgrade', name: 'kit', to_version: '2.0.0', artifact };
    const inner = { ...kit, name: 'inner', source_name: 'kit', source_version: '2.0.0' };
    const reportOf = (actions: object[]) => {
      const plan = { resolved_at: '2026-11-21T08:59:00Z', actions };
      const update = { name: 'kit', current_version: '1.0.0', available_version: '2.0.0', plan };
      return { ...report, packages: [], updates: [update] };
    };
    for (const [actions, path] of [
      [[kit, { ...inner, source_version: '2.0.1' }], '/updates/0/plan/actions/1/source_name'],
      [[kit, { ...inner, artifact: { ...artifact, size_bytes: 2 } }], '/updates/0/plan/actions/1/artifact'],
    ] as const) {
      const answer = await put(reportOf([...actions]), { ecosystem: 'npm' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors.map((error: { path: string }) => error.path)).toContain(path);
    }
    expect((await put(reportOf([kit, inner]), { ecosystem: 'npm' })).statusCode).toBe(200);
    // For apt and dnf `source_*` is the source package, which no plan installs.
    const ofApt = reportOf([kit, { ...inner, source_version: '2.0.1' }]);
    expect((await put(ofApt, { ecosystem: 'apt' })).statusCode).toBe(200);
    expect(await stored()).toEqual([]);
  });

  test('8 MiB after decompression is the limit: 413', async () => {
    const { put } = await setUp();
    const response = await put(' '.repeat(8 * 1024 * 1024 + 1), { encoding: 'gzip' });
    expect(response.statusCode).toBe(413);
  });

  test('an unknown ecosystem is 400 and the path of another agent is 404', async () => {
    const { database, put } = await setUp();
    const other = await insertTestAgent(database, { n: 2 });
    expect((await put(report, { ecosystem: 'cargo' })).statusCode).toBe(400);
    expect((await put(report, { of: other.agentId })).statusCode).toBe(404);
  });
});
