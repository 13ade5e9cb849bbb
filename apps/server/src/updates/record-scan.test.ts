import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { describe, expect, test } from 'vitest';
import { BUDGETS } from '../outsiders/budget-rules.ts';
import { charge } from '../outsiders/charge.ts';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { recordScan } from './record-scan.ts';
import { findUpdate, insertUpdates, readHistory, readPlan } from './store.ts';
import { planDigest } from './store-plan.ts';
import { transitionUpdate } from './transition-update.ts';

const openssl: InventoryUpdate = {
  name: 'openssl',
  current_version: '3.0.1-1',
  available_version: '3.0.2-1',
};
const installedOld = { name: 'openssl', version: '3.0.1-1' };

describe.each(ENGINES)('recording a scan on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    async function scan(
      updates: InventoryUpdate[],
      {
        complete = true,
        packages = [installedOld],
        scanAgoMs = 0,
        openMax,
      }: { complete?: boolean; packages?: InventoryPackage[]; scanAgoMs?: number; openMax?: number } = {},
    ) {
      platform.clock.advance(1_000);
      const scannedAtMs = platform.now() - scanAgoMs;
      const report = { scanned_at: new Date(scannedAtMs).toISOString(), complete, packages, updates };
      return database.transact((tx) =>
        recordScan(tx, platform, { agentId, ecosystem: 'apt', report, openMax }),
      );
    }
    return { database, platform, agentId, scan };
  }

  test('a new update is pending with its history, and a rescan answers the same id', async () => {
    const { database, scan } = await setUp();
    const [first] = (await scan([openssl])).updates;
    expect(first).toMatchObject({ name: 'openssl', available_version: '3.0.2-1' });
    expect((await scan([openssl])).updates).toEqual([first]);
    expect((await findUpdate(database.read, first?.update_id ?? ''))?.state).toBe('pending');
    const history = await readHistory(database.read, first?.update_id ?? '');
    expect(history.map((row) => [row.from_state, row.to_state, row.actor])).toEqual([
      [null, 'pending', 'scan'],
    ]);
  });

  test('a newer available version supersedes, by the order of its ecosystem and not of its text', async () => {
    const { database, scan } = await setUp();
    const [old] = (await scan([{ ...openssl, available_version: '3.0.9-1' }])).updates;
    const after = await scan([{ ...openssl, available_version: '3.0.10-1' }]);
    expect(after.updates.map((u) => u.available_version)).toEqual(['3.0.10-1']);
    const row = await findUpdate(database.read, old?.update_id ?? '');
    expect(row).toMatchObject({ state: 'superseded', state_reason: 'superseded_by: 3.0.10-1' });
  });

  test('a version with an undecidable order is listed and supersedes nothing', async () => {
    const { scan } = await setUp();
    await scan([openssl]);
    const after = await scan([{ ...openssl, available_version: 'not a version' }]);
    expect(after.updates.map((u) => u.available_version).toSorted()).toEqual(['3.0.2-1', 'not a version']);
  });

  test.each(['rejected', 'approved', 'installing', 'failed'] as const)(
    'a rescan never moves a row back from %s',
    async (state) => {
      const { database, platform, scan } = await setUp();
      const id = (await scan([openssl])).updates[0]?.update_id ?? '';
      await forceState(database, id, state);
      await scan([openssl]);
      expect((await findUpdate(database.read, id))?.state).toBe(state);
      expect(await countUpdates(database)).toBe(1);
      expect(platform.lines).toEqual([]);
    },
  );

  test.each(['installed', 'superseded'] as const)(
    'a version that is %s and offered again gets a fresh row, once; the old one stays unchanged',
    async (state) => {
      const { database, scan } = await setUp();
      const id = (await scan([openssl])).updates[0]?.update_id ?? '';
      await forceState(database, id, state);
      const [again] = (await scan([openssl])).updates;
      expect(again?.update_id).not.toBe(id);
      expect((await scan([openssl])).updates).toEqual([again]);
      expect((await findUpdate(database.read, id))?.state).toBe(state);
      const fresh = await findUpdate(database.read, again?.update_id ?? '');
      expect(fresh).toMatchObject({ state: 'pending', plan_id: null, approval_id: null, out_of_band: 0 });
      expect((await readHistory(database.read, again?.update_id ?? '')).length).toBe(1);
      // And once more, when that one is closed too.
      await forceState(database, again?.update_id ?? '', state);
      await scan([openssl]);
      expect(await countUpdates(database)).toBe(3);
    },
  );

  test.each([
    ['a scan that began before the close', { scanAgoMs: 2_000 }],
    ['an incomplete scan', { complete: false }],
    ['a scan that sees it installed', { packages: [{ name: 'openssl', version: '3.0.2-1' }] }],
    ['a scan that sees a newer one installed', { packages: [{ name: 'openssl', version: '3.0.3-1' }] }],
  ])('%s offers nothing again', async (_, how) => {
    const { database, scan } = await setUp();
    const id = (await scan([openssl])).updates[0]?.update_id ?? '';
    await forceState(database, id, 'installed');
    expect((await scan([openssl], how)).updates).toEqual([]);
    expect(await countUpdates(database)).toBe(1);
  });

  test('of two versions offered together the older one is superseded once and for all', async () => {
    const { database, scan } = await setUp();
    const both = [openssl, { ...openssl, available_version: '3.0.3-1' }];
    for (let round = 0; round < 3; round++) await scan(both);
    expect(await countUpdates(database)).toBe(2);
    const [back] = (await scan([openssl])).updates.filter((u) => u.available_version === '3.0.2-1');
    expect(back).toBeDefined(); // the newer one was withdrawn
  });

  test('of a version closed again and again only the last row is read, and none of other versions or architectures', async () => {
    const { database, scan } = await setUp();
    const old = { ...openssl, available_version: '3.0.2-1' };
    const other = { ...old, arch: 'arm64' };
    const installed = [{ name: 'openssl', version: '3.0.2-1' }];
    for (let round = 0; round < 3; round++) {
      await scan([old, other, { ...old, available_version: `2.${round}-1` }]);
      await scan([], { packages: installed });
    }
    const closed = await database.read
      .selectFrom('updates')
      .select('id')
      .where('available_version', '=', '3.0.2-1')
      .where('arch', '=', '')
      .orderBy('id')
      .execute();
    expect(closed).toHaveLength(3);
    await database.transact((tx) =>
      tx
        .updateTable('updates')
        .set({ taken_back: 1 })
        .where('id', '=', closed[2]?.id ?? '')
        .execute(),
    );
    const open = (await scan([])).updates.length;
    expect((await scan([old])).read).toBe(open + 1);
    const again = await database.read
      .selectFrom('updates')
      .select('taken_back')
      .where('available_version', '=', '3.0.2-1')
      .where('arch', '=', '')
      .where('state', '=', 'pending')
      .execute();
    expect(again).toEqual([{ taken_back: 1 }]);
  });

  test('open rows are unique per version', async () => {
    const { database, scan } = await setUp();
    const row = await findUpdate(database.read, (await scan([openssl])).updates[0]?.update_id ?? '');
    if (!row) throw new Error('no update');
    const id = '01900000-0000-7000-8000-00000000beef';
    const insert = () => database.transact((tx) => insertUpdates(tx, [{ ...row, id }]));
    await expect(insert()).rejects.toThrow(/unique/i);
    await forceState(database, row.id, 'superseded');
    await insert();
  });

  test('an incomplete scan closes nothing: neither by an installed version nor by a newer offer', async () => {
    const { scan } = await setUp();
    await scan([openssl]);
    const newer = { ...openssl, available_version: '3.0.3-1' };
    const packages = [{ name: 'openssl', version: '3.0.2-1' }];
    const { updates } = await scan([newer], { complete: false, packages });
    expect(updates.map((u) => u.available_version).toSorted()).toEqual(['3.0.2-1', '3.0.3-1']);
    expect((await scan([], { complete: false, packages: [] })).updates.length).toBe(2);
  });

  test.each([
    ['pending', ['installed']],
    ['awaiting_plan', ['pending', 'installed']],
    ['approved', ['pending', 'installed']],
  ] as const)('%s and seen installed by a complete scan: installed, out of band', async (state, steps) => {
    const { database, scan } = await setUp();
    const id = (await scan([{ ...openssl, arch: 'amd64' }])).updates[0]?.update_id ?? '';
    await forceState(database, id, state);
    const packages = [{ name: 'openssl', version: '3.0.2-1', arch: 'amd64' }];
    const outcome = await scan([], { packages });
    const closed = state === 'approved' ? [{ id, kind: 'installed' }] : [];
    expect(outcome).toEqual({ updates: [], closed, read: 1 });
    expect(await findUpdate(database.read, id)).toMatchObject({ state: 'installed', out_of_band: 1 });
    const history = await readHistory(database.read, id);
    expect(history.map((row) => row.to_state).toReversed()).toEqual(['pending', ...steps]);
  });

  test('of what a host offers no more only so many stay open: the oldest pending ones are closed', async () => {
    const { database, scan } = await setUp();
    const offers = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, n) => ({ ...openssl, name: `package-${from + n}` }));
    const names = (updates: readonly { name: string }[]) => updates.map(({ name }) => name);
    const first = (await scan(offers(1, 3), { openMax: 4 })).updates;
    // An operator decides about a rejected one.
    await forceState(database, first[0]?.update_id ?? '', 'rejected');
    expect(names((await scan(offers(4, 5), { openMax: 4 })).updates).toSorted()).toEqual(
      names([...offers(1, 1), ...offers(3, 5)]),
    );
    expect(await findUpdate(database.read, first[1]?.update_id ?? '')).toMatchObject({
      ...{ state: 'superseded', state_reason: 'no_longer_offered' },
    });
    // What is offered stays, however much it is.
    const many = await scan(offers(4, 9), { openMax: 4 });
    expect(names(many.updates).toSorted()).toEqual(names([...offers(1, 1), ...offers(4, 9)]));
    // Round after round there are no more of them.
    for (let round = 10; round < 50; round += 4) await scan(offers(round, round + 3), { openMax: 4 });
    expect((await scan(offers(50, 50), { openMax: 4 })).updates).toHaveLength(4);
    expect((await scan(offers(4, 4), { openMax: 4 })).updates).toHaveLength(4);
  });

  test('past its daily budget a host offers nothing new, with one event; what it offered before stays', async () => {
    const { database, platform, agentId, scan } = await setUp();
    const offer = (name: string) => ({ ...openssl, name });
    const plan = { resolved_at: '2026-11-21T09:00:00Z', actions: [{ action: 'remove' as const, name: 'x' }] };
    await scan([offer('a')]);
    const spend = { kind: 'offers', subject: { agentId }, rows: BUDGETS.offers.rows - 1, bytes: 0 } as const;
    await database.transact((tx) => charge(tx, platform, spend));
    for (const name of ['b', 'c']) {
      const { updates } = await scan([
        { ...offer('a'), security: true, plan },
        { ...offer(name), plan },
      ]);
      expect(updates.map((one) => one.name)).toEqual(['a']);
      expect(await findUpdate(database.read, updates[0]?.update_id ?? '')).toMatchObject({
        ...{ security: 1, plan_id: expect.any(String) },
      });
    }
    const events = await database.read.selectFrom('events').select(['type', 'agent_id']).execute();
    expect(events).toEqual([{ type: 'OUTSIDER_BUDGET_SPENT', agent_id: agentId }]);
    platform.clock.advance(86_400_000);
    expect((await scan([offer('a'), offer('b')])).updates.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  test('an incomplete scan adds no more than what is kept, and what is open stays', async () => {
    const { scan } = await setUp();
    const offers = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, n) => ({ ...openssl, name: `package-${from + n}` }));
    const incomplete = { complete: false, openMax: 4 };
    const [one] = (await scan(offers(1, 3), incomplete)).updates;
    for (let round = 4; round < 20; round += 4) await scan(offers(round, round + 3), incomplete);
    const { updates } = await scan([], incomplete);
    expect(updates.map(({ name }) => name).toSorted()).toEqual(offers(1, 4).map(({ name }) => name));
    expect(updates).toContainEqual(one);
  });

  test('a failed update is closed once it is seen installed, and by nothing else', async () => {
    const { database, scan } = await setUp();
    const id = (await scan([openssl])).updates[0]?.update_id ?? '';
    await forceState(database, id, 'failed');
    const state = async () => (await findUpdate(database.read, id))?.state;
    const packages = [{ name: 'openssl', version: '3.0.2-1' }];
    await scan([], { packages, complete: false });
    await scan([{ ...openssl, available_version: '3.0.3-1' }]);
    await scan([], { packages: [{ name: 'openssl', version: '3.1.0-1' }] });
    expect(await state()).toBe('failed');
    expect((await scan([], { packages })).closed).toEqual([]);
    expect(await state()).toBe('installed');
    const steps = (await readHistory(database.read, id)).map((row) => row.to_state);
    expect(steps.toSorted()).toEqual(['installed', 'pending', 'pending']);
  });

  test('a host that has a newer version than the offer supersedes it', async () => {
    const { database, scan } = await setUp();
    const id = (await scan([openssl])).updates[0]?.update_id ?? '';
    await scan([], { packages: [{ name: 'openssl', version: '3.1.0-1', arch: 'amd64' }] });
    expect(await findUpdate(database.read, id)).toMatchObject({
      state: 'superseded',
      state_reason: 'newer_installed: 3.1.0-1',
    });
  });

  test('a complete scan without the update and with the old version leaves it open', async () => {
    const { scan } = await setUp();
    await scan([openssl]);
    expect((await scan([])).updates.length).toBe(1);
  });

  test('the plan of a report is stored with the digest of its RFC 8785 form, once for the same actions', async () => {
    const { database, scan } = await setUp();
    const plan = {
      resolved_at: '2026-11-21T09:00:00Z',
      actions: [{ action: 'remove' as const, name: 'libssl1.1' }],
    };
    const id = (await scan([{ ...openssl, plan }])).updates[0]?.update_id ?? '';
    await scan([{ ...openssl, plan }]);
    const row = await findUpdate(database.read, id);
    const stored = await readPlan(database.read, row?.plan_id ?? '');
    expect(stored).toMatchObject({
      actions: plan.actions,
      planSha256: planDigest(plan),
    });
    expect(planDigest(plan)).toMatch(/^[0-9a-f]{64}$/);
    expect((await database.read.selectFrom('update_plans').select('id').execute()).length).toBe(1);
  });

  test('of two concurrent moves one wins, and a move that the table does not have throws', async () => {
    const { database, platform, scan } = await setUp();
    const updateId = (await scan([openssl])).updates[0]?.update_id ?? '';
    const reject = () =>
      database.transact((tx) =>
        transitionUpdate(tx, platform, { updateId, from: ['pending'], to: 'rejected', actor: 'ada' }),
      );
    expect((await Promise.all([reject(), reject()])).toSorted()).toEqual([false, true]);
    const wrong = { updateId, from: ['rejected'], to: 'approved', actor: 'ada' } as const;
    await expect(database.transact((tx) => transitionUpdate(tx, platform, wrong))).rejects.toThrow(
      'never goes',
    );
  });
});

async function forceState(database: Database, id: string, state: string): Promise<void> {
  await database.transact((tx) => tx.updateTable('updates').set({ state }).where('id', '=', id).execute());
}

async function countUpdates(database: Database): Promise<number> {
  return (await database.read.selectFrom('updates').select('id').execute()).length;
}
