import { createHash } from 'node:crypto';
import {
  DELTA_MAX_BYTES,
  DELTA_MAX_ITEMS,
  INVENTORY_PARTS_MAX_PACKAGES,
  type InventoryDelta,
  type InventoryReport,
} from '@tidegate/protocol/agent-api';
import { deltaBetween, type NamedReport, sameReport } from '@tidegate/protocol/inventory-delta';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BUDGETS, dayOf } from '../outsiders/budget-rules.ts';
import type { Tx } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { newRow } from '../updates/record-scan.ts';
import { insertUpdates } from '../updates/store.ts';
import { createLargeReports, SMALL_REPORT_MAX_ITEMS } from './large-reports.ts';
import { recordLargeReport } from './record-large-report.ts';
import { mountInventory } from './routes.ts';

const BASE = reportOf([
  ['curl', '8.0-1'],
  ['openssl', '3.0.1-1'],
  ['zlib1g', '1.2-1'],
]);
const NEXT = reportOf([
  ['curl', '8.0-1'],
  ['openssl', '3.0.2-1'],
  ['jq', '1.6-1'],
  ['vim', '9.0-1'],
]);

function reportOf(packages: [string, string][], more: Partial<InventoryReport> = {}): NamedReport {
  const content = {
    ...{ scanned_at: '2026-11-21T08:59:00Z', complete: true },
    packages: packages.map(([name, version]) => ({ name, version, arch: 'amd64' })),
    updates: [
      { name: 'curl', arch: 'amd64', current_version: '8.0-1', available_version: '8.1-1' },
      { name: 'openssl', arch: 'amd64', current_version: '3.0.1-1', available_version: '3.0.2-1' },
    ],
    ...more,
  };
  return { sha256: createHash('sha256').update(JSON.stringify(content)).digest('hex'), content };
}

function deltaOf(base: NamedReport, next: NamedReport): InventoryDelta {
  const delta = deltaBetween(base, next);
  if (!delta) throw new Error('no delta');
  return delta;
}

describe.each(ENGINES)('deltas of an inventory on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    const app = createSliceApp(platform);
    const deps = { platform, large };
    mountInventory(app.routes, deps);
    onTestFinished(() => app.close());
    const { agentId, familyId } = await insertTestAgent(database, { n: 1 });
    async function send(method: 'PUT' | 'PATCH', body: object | string) {
      platform.clock.advance(1_000);
      const answer = await app.inject({
        ...{ method, url: `/api/v1/agents/${agentId}/inventory/apt` },
        payload: typeof body === 'string' ? body : JSON.stringify(body),
        headers: {
          ...{ 'content-type': 'application/json', 'x-machine-id': 'machine-1' },
          ...{ 'x-test-agent': agentId, 'x-test-family': familyId },
        },
      });
      const { code, detail, updates } = answer.json();
      return { status: answer.statusCode, code, detail, updates };
    }
    const packages = async () => {
      const rows = await database.read.selectFrom('host_packages').select(['name', 'version']).execute();
      return rows.map(({ name, version }) => `${name} ${version}`).toSorted();
    };
    const report = () => database.read.selectFrom('inventory_reports').selectAll().executeTakeFirstOrThrow();
    const digests = async () =>
      (await database.read.selectFrom('agents').select('inventory_digests').executeTakeFirstOrThrow())
        .inventory_digests;
    /** Rows that the reports of all days are charged for. */
    const usage = async () => {
      const rows = await database.read
        .selectFrom('outsider_usage')
        .select('rows')
        .where('kind', '=', 'reports')
        .execute();
      return rows.reduce((sum, row) => sum + Number(row.rows), 0);
    };
    const write = (work: (tx: Tx) => Promise<unknown>) =>
      database.transact(async (tx) => void (await work(tx)));
    return { database, platform, deps, agentId, send, packages, report, digests, usage, write };
  }

  const asOf = ({ content }: NamedReport) =>
    content.packages.map(({ name, version }) => `${name} ${version}`).toSorted();
  const wantsWhole = { status: 409, code: 'whole_report_required' };

  test('a delta leaves the packages, updates and digest of the report that comes of it', async () => {
    const { send, packages, report, digests } = await setUp();
    const first = await send('PUT', BASE.content);
    const answer = await send('PATCH', deltaOf(BASE, NEXT));
    expect(answer.status).toBe(200);
    // openssl was seen installed.
    expect(answer.updates).toEqual(first.updates.filter(({ name }: { name: string }) => name === 'curl'));
    expect(await packages()).toEqual(asOf(NEXT));
    expect(await report()).toMatchObject({ digest: NEXT.sha256, complete: 1, package_count: 4 });
    expect(await digests()).toBe(JSON.stringify({ apt: NEXT.sha256 }));
    expect((await send('PATCH', deltaOf(NEXT, BASE))).status).toBe(200);
    expect(await packages()).toEqual(asOf(BASE));
  });

  test('a delta whose answer was lost is answered again, and writes nothing', async () => {
    const { send, report } = await setUp();
    await send('PUT', BASE.content);
    const first = await send('PATCH', deltaOf(BASE, NEXT));
    const before = await report();
    expect(await send('PATCH', deltaOf(BASE, NEXT))).toEqual(first);
    expect(await report()).toEqual(before);
  });

  test('a delta of nothing answers the ids of a report that the server has, without a transaction; any other report goes whole', async () => {
    const { platform, send, report } = await setUp();
    const { transact } = platform.database;
    expect(await send('PATCH', sameReport(BASE))).toMatchObject(wantsWhole);
    const first = await send('PUT', BASE.content);
    const before = await report();
    platform.database.transact = () => Promise.reject(new Error('a transaction'));
    expect(await send('PATCH', sameReport(BASE))).toEqual(first);
    expect(await send('PATCH', sameReport(NEXT))).toMatchObject(wantsWhole);
    expect(await report()).toEqual(before);
    platform.database.transact = transact;
    const part = reportOf([], { packages: BASE.content.packages, complete: false });
    await send('PUT', part.content);
    expect(await send('PATCH', sameReport(part))).toMatchObject(wantsWhole);
  });

  test('a base that is not the stored report, or none, asks for the whole and changes nothing', async () => {
    const { send, packages, report } = await setUp();
    expect(await send('PATCH', deltaOf(BASE, NEXT))).toMatchObject(wantsWhole);
    // A host may have as many packages as all parts of its report.
    const large = { ...deltaOf(BASE, NEXT), package_count: INVENTORY_PARTS_MAX_PACKAGES };
    expect(await send('PATCH', large)).toMatchObject(wantsWhole);
    await send('PUT', BASE.content);
    const other = reportOf([['curl', '7.9-1']]);
    const answer = await send('PATCH', deltaOf(other, NEXT));
    expect(answer).toMatchObject({ ...wantsWhole, detail: expect.stringContaining('base_sha256') });
    expect(await packages()).toEqual(asOf(BASE));
    expect((await report()).digest).toBe(BASE.sha256);
    expect((await send('PUT', NEXT.content)).status).toBe(200);
  });

  test('an incomplete report, and one that is being written, is no base', async () => {
    const { send, write } = await setUp();
    const part = reportOf([], { packages: BASE.content.packages, complete: false });
    await send('PUT', part.content);
    const delta = { ...deltaOf(BASE, NEXT), base_sha256: part.sha256 };
    expect(await send('PATCH', delta)).toMatchObject(wantsWhole);
    await send('PUT', BASE.content);
    const mark = { writing: 'somebody', digest: '', complete: 0 };
    await write((tx) => tx.updateTable('inventory_reports').set(mark).execute());
    expect(await send('PATCH', deltaOf(BASE, NEXT))).toMatchObject(wantsWhole);
    expect((await send('PUT', NEXT.content)).status).toBe(200);
  });

  test.each([
    ['a package to be removed is not stored', 'gone'],
    ['the packages are not as many afterwards', 'package_count'],
  ])(
    'rows that differ from what the host believes heal: where %s, the whole is asked for',
    async (_, named) => {
      const { send, packages, report, write } = await setUp();
      await send('PUT', BASE.content);
      const lost = named === 'gone' ? 'zlib1g' : 'curl';
      await write((tx) => removeNamed(tx, lost));
      const before = [await packages(), await report()];
      const answer = await send('PATCH', deltaOf(BASE, NEXT));
      expect(answer).toMatchObject({ ...wantsWhole, detail: expect.stringContaining(named) });
      expect([await packages(), await report()]).toEqual(before);
      expect((await send('PUT', NEXT.content)).status).toBe(200);
      expect(await packages()).toEqual(asOf(NEXT));
    },
  );

  test('a package named twice counts once', async () => {
    const { send, packages } = await setUp();
    await send('PUT', BASE.content);
    const delta = deltaOf(BASE, NEXT);
    const [first] = delta.put;
    expect((await send('PATCH', { ...delta, put: [...delta.put, first] })).status).toBe(200);
    expect(await packages()).toEqual(asOf(NEXT));
    const back = deltaOf(NEXT, BASE);
    const [gone] = back.gone;
    expect(await send('PATCH', { ...back, gone: [...back.gone, gone] })).toMatchObject(wantsWhole);
  });

  test.each([
    ['an unknown member', { extra: 1 }],
    ['a base that is no digest', { base_sha256: 'x' }],
    ['too many packages', { put: Array(DELTA_MAX_ITEMS + 1).fill({ name: 'a', version: '1' }) }],
    ['too many removals', { gone: Array(DELTA_MAX_ITEMS + 1).fill({ name: 'a', version: '1' }) }],
    [
      'a plan that does not bring its update',
      {
        updates: [
          {
            ...{ name: 'curl', current_version: '1', available_version: '2' },
            plan: { resolved_at: '2026-11-21T08:59:00Z', actions: [{ action: 'remove', name: 'x' }] },
          },
        ],
      },
    ],
  ])('%s is 400 and changes nothing', async (_, member) => {
    const { send, packages } = await setUp();
    await send('PUT', BASE.content);
    const answer = await send('PATCH', { ...deltaOf(BASE, NEXT), ...member });
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    expect(await packages()).toEqual(asOf(BASE));
  });

  test('a member named twice is 400, and a body above the bound 413', async () => {
    const { send } = await setUp();
    await send('PUT', BASE.content);
    const text = JSON.stringify(deltaOf(BASE, NEXT));
    expect((await send('PATCH', `{"gone":[],${text.slice(1)}`)).status).toBe(400);
    const answer = await send('PATCH', text.padEnd(DELTA_MAX_BYTES + 1));
    expect([answer.status, answer.code]).toEqual([413, 'payload_too_large']);
  });

  test('a host past its budget is refused, with one event, and keeps its report', async () => {
    const { database, platform, agentId, send, packages } = await setUp();
    await send('PUT', BASE.content);
    const day = dayOf(platform.now());
    const set = { rows: BUDGETS.reports.rows };
    await database.transact((tx) =>
      tx
        .updateTable('outsider_usage')
        .set(set)
        .where('kind', '=', 'reports')
        .where('day', '=', day)
        .execute(),
    );
    for (let n = 0; n < 2; n++) {
      const answer = await send('PATCH', deltaOf(BASE, NEXT));
      expect([answer.status, answer.code]).toEqual([429, 'host_budget_spent']);
    }
    expect(await packages()).toEqual(asOf(BASE));
    const events = await database.read.selectFrom('events').select(['type', 'agent_id']).execute();
    expect(events).toEqual([{ type: 'OUTSIDER_BUDGET_SPENT', agent_id: agentId }]);
  });

  test('of several deltas on one base at once, one counts', async () => {
    const { database, send, report } = await setUp();
    await send('PUT', BASE.content);
    // They fit whatever packages are stored: only the base tells them apart.
    const origins = ['a', 'b', 'c', 'd'];
    const others = origins.map((origin) =>
      reportOf([], { packages: BASE.content.packages.map((item) => ({ ...item, origin })) }),
    );
    const answers = await Promise.all(others.map((next) => send('PATCH', deltaOf(BASE, next))));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 200);
    expect((await report()).digest).toBe(others[winner]?.sha256);
    const stored = await database.read.selectFrom('host_packages').select('origin').distinct().execute();
    expect(stored).toEqual([{ origin: origins[winner] }]);
  });

  test('a delta that names a package of very many versions is charged for what it has the server read', async () => {
    const { send, usage, packages } = await setUp();
    const versionsOf = (count: number) =>
      reportOf(
        Array.from({ length: count }, (_, n) => ['many', `1.${n}`]),
        { updates: [] },
      );
    const [base, next] = [versionsOf(2_500), versionsOf(2_501)];
    await send('PUT', base.content);
    const before = await usage();
    expect((await send('PATCH', deltaOf(base, next))).status).toBe(200);
    expect(await packages()).toHaveLength(2_501);
    // One that is written, and a tenth of those beyond a thousand that were read.
    expect((await usage()) - before).toBe(1 + 150);
    // What fits nothing is charged alike.
    const unfit = {
      ...deltaOf(base, next),
      base_sha256: next.sha256,
      gone: [{ name: 'many', version: '2' }],
    };
    expect((await send('PATCH', { ...unfit, report_sha256: base.sha256 })).status).toBe(409);
    expect((await usage()) - before).toBe(1 + 150 + 2 + 151);
  });

  test('an unchanged report is charged for what it has the server read, and begins nothing once the budget is spent', async () => {
    const { database, platform, send, usage, write } = await setUp();
    const many = reportOf(
      [...Array.from({ length: 2_500 }, (_, n): [string, string] => ['many', `1.${n}`]), ['curl', '8.0-1']],
      {
        updates: [
          { name: 'many', arch: 'amd64', current_version: '1.1', available_version: '3' },
          { name: 'curl', arch: 'amd64', current_version: '7.9', available_version: '8.0-1' },
        ],
      },
    );
    const again = [() => send('PATCH', deltaOf(many, many)), () => send('PUT', many.content)];
    const states = async () => {
      const rows = await database.read
        .selectFrom('updates')
        .select(['name', 'state'])
        .orderBy('name')
        .execute();
      return rows.map(({ name, state }) => `${name} ${state}`);
    };
    const fail = (name: string) => {
      platform.clock.advance(1_000);
      const set = { state: 'failed', updated_at: platform.now() };
      return write((tx) => tx.updateTable('updates').set(set).where('name', '=', name).execute());
    };
    await send('PUT', many.content);
    await fail('curl');
    const before = await usage();
    // Of what is honest nothing is charged.
    expect((await send('PATCH', deltaOf(many, many))).status).toBe(200);
    expect(await usage()).toBe(before);
    await fail('many');
    for (const report of again) expect((await report()).status).toBe(200);
    // A tenth of what was read beyond a thousand, each time: the versions, and the update.
    expect((await usage()) - before).toBe(2 * 151);
    await write((tx) =>
      tx
        .updateTable('outsider_usage')
        .set({ rows: BUDGETS.reports.rows + 1 })
        .where('kind', '=', 'reports')
        .execute(),
    );
    for (const report of again) {
      const answer = await report();
      expect([answer.status, answer.code]).toEqual([429, 'host_budget_spent']);
    }
    expect(await usage()).toBe(BUDGETS.reports.rows + 1);
    expect(await states()).toEqual(['curl installed', 'many failed']);
  });

  test.each(['a delta', 'a whole report', 'a report in many transactions'])(
    '%s has the server read one ended update of each offer, however many there were',
    async (kind) => {
      const { platform, deps, agentId, send, usage, write } = await setUp();
      await send('PUT', BASE.content);
      const update = { name: 'curl', arch: 'amd64', current_version: '8.0-1', available_version: '8.1-1' };
      const ended = (version: string) =>
        Array.from({ length: 2_500 }, () => ({
          ...newRow(platform, {
            agentId,
            ecosystem: 'apt',
            update: { ...update, available_version: version },
          }),
          state: 'superseded',
        }));
      await write((tx) => insertUpdates(tx, [...ended('8.1-1'), ...ended('7')]));
      const before = await usage();
      const section = { agentId, ecosystem: 'apt' as const };
      let written: number;
      if (kind === 'a delta') {
        expect((await send('PATCH', deltaOf(BASE, NEXT))).status).toBe(200);
        written = 3 + 2 + 2;
      } else if (kind === 'a whole report') {
        expect((await send('PUT', NEXT.content)).status).toBe(200);
        written = 4 + 2;
      } else {
        expect(
          await recordLargeReport(deps, { ...section, report: NEXT.content, digest: NEXT.sha256 }),
        ).toMatchObject({ kind: 'recorded' });
        written = 0;
      }
      expect((await usage()) - before).toBe(written);
    },
  );

  test('a host with very many open updates is charged for them with each report, also an unchanged one', async () => {
    const { platform, agentId, send, usage, write } = await setUp();
    await send('PUT', BASE.content);
    const update = { arch: 'amd64', current_version: '1', available_version: '2' };
    const open = Array.from({ length: 2_498 }, (_, n) =>
      newRow(platform, { agentId, ecosystem: 'apt', update: { ...update, name: `more-${n}` } }),
    );
    await write((tx) => insertUpdates(tx, open));
    const before = await usage();
    const answer = await send('PATCH', deltaOf(BASE, BASE));
    expect([answer.status, answer.updates.length]).toEqual([200, 2_500]);
    expect((await usage()) - before).toBe(150);
    await send('PUT', BASE.content);
    expect((await usage()) - before).toBe(2 * 150);
    await send('PATCH', deltaOf(BASE, NEXT));
    expect((await usage()) - before).toBe(3 * 150 + 7);
    const incomplete = { ...BASE.content, complete: false, packages: [], updates: [] };
    for (let n = 1; n <= 2; n++) {
      expect((await send('PUT', incomplete)).status).toBe(200);
      expect((await usage()) - before).toBe((3 + n) * 150 + 7);
    }
  });

  test('a delta beside a whole report that many transactions write: the whole one counts', async () => {
    const { deps, agentId, send, packages, report } = await setUp();
    await send('PUT', BASE.content);
    const many = reportOf(Array.from({ length: SMALL_REPORT_MAX_ITEMS }, (_, n) => [`p${n}`, '1']));
    const section = { agentId, ecosystem: 'apt' as const };
    const whole = recordLargeReport(deps, { ...section, report: many.content, digest: many.sha256 });
    const statuses: number[] = [];
    let isDone = false;
    void whole.finally(() => {
      isDone = true;
    });
    while (!isDone) statuses.push((await send('PATCH', deltaOf(BASE, NEXT))).status);
    expect((await whole).kind).toBe('recorded');
    // The delta counts before the whole one has begun, and is repeated then.
    expect(statuses.filter((status) => status !== 200)).toEqual(expect.arrayContaining([409]));
    expect((await packages()).length).toBe(SMALL_REPORT_MAX_ITEMS);
    expect(await report()).toMatchObject({ digest: many.sha256, complete: 1, writing: null });
  });

  test('a delta of an agent that was deleted meanwhile is 404', async () => {
    const { send, platform, database, agentId, packages } = await setUp();
    await send('PUT', BASE.content);
    const transact = database.transact.bind(database);
    platform.database.transact = async (work) => {
      platform.database.transact = transact;
      await transact((tx) =>
        tx.updateTable('agents').set({ deleted_at: 1 }).where('id', '=', agentId).execute(),
      );
      return transact(work);
    };
    const answer = await send('PATCH', deltaOf(BASE, NEXT));
    expect([answer.status, answer.code]).toEqual([404, 'not_found']);
    expect(await packages()).toEqual(asOf(BASE));
  });

  test('ten changed packages of 1,500 write ten rows and remove ten', async () => {
    const { database, send, write } = await setUp();
    const versions = (of: string): [string, string][] =>
      Array.from({ length: 1_500 }, (_, n) => [`p${n}`, n < 10 ? of : '1']);
    const before = reportOf(versions('1'));
    await send('PUT', before.content);
    await write((tx) => tx.updateTable('installed_packages').set({ held: 1 }).execute());
    const after = reportOf(versions('2'));
    expect((await send('PATCH', deltaOf(before, after))).status).toBe(200);
    const touched = await database.read
      .selectFrom('host_packages')
      .select('version')
      .where('held', '=', 0)
      .execute();
    expect(touched).toEqual(Array(10).fill({ version: '2' }));
  });
});

async function removeNamed(tx: Tx, name: string): Promise<void> {
  const ids = tx.selectFrom('package_identities').select('id').where('name', '=', name);
  await tx.deleteFrom('installed_packages').where('package_id', 'in', ids).execute();
}
