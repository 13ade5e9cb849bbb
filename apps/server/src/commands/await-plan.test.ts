import { COMMAND_MAX_BYTES } from '@tidegate/protocol/documents';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { sweepOnce } from '../approvals/sweep.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdates } from '../updates/many-store.ts';
import { insertUpdates } from '../updates/store.ts';
import { setDigest } from '../updates/update-set.ts';
import { awaitPlan } from './await-plan.ts';
import { awaitedSets, awaitedSetsOf } from './awaited-store.ts';
import { updatesOfCommand } from './named-updates.ts';

const ALL = { after: '', limit: 10 };
const actionsOf = (...names: string[]) => names.map((name) => actionOf({ name, version: '3.0.12-1' }));

describe.each(ENGINES)('updates that wait for the plan of their set, on $name', (engine) => {
  async function scene(names: readonly string[]) {
    const it = await createApprovalsApp(engine);
    const ids: string[] = [];
    for (const name of names) ids.push(await it.addUpdate({ name }));
    return { it, ids };
  }

  const wait = (it: ApprovalsApp, ids: readonly string[], askedBy = 'ada') =>
    it.database.transact(async (tx) => {
      const updates = [...(await findUpdates(tx, ids)).values()];
      const asked = { askedBy, policy: null, bulkId: null, askedAtMs: it.platform.now(), round: 0 };
      return awaitPlan(tx, it.platform, { updates, ...asked, actor: askedBy, notBeforeMs: null });
    });
  const setState = (it: ApprovalsApp, id: string, state: string) =>
    it.database.transact((tx) => tx.updateTable('updates').set({ state }).where('id', '=', id).execute());
  const requestsOf = async (it: ApprovalsApp) => {
    const query = it.database.read.selectFrom('agent_commands').selectAll().orderBy('id');
    return (await query.execute()).map((row) => [row.status, updatesOfCommand(row)]);
  };

  test.each(['approved', 'installing', 'installed', 'failed', 'superseded', 'rejected'])(
    'are the open ones: one that is %s is left out',
    async (state) => {
      const { it, ids } = await scene(['a', 'b', 'c']);
      const [a = '', b = '', c = ''] = ids;
      await setState(it, b, state);
      expect(await wait(it, ids)).toEqual([a, c]);
      expect((await findUpdates(it.database.read, [b])).get(b)).toMatchObject({ state });
      expect(await requestsOf(it)).toEqual([['pending', [a, c]]]);
      expect(await awaitedSets(it.database.read, ALL)).toMatchObject([{ updateIds: [a, c], askedBy: 'ada' }]);
    },
  );

  test('are named in ascending order, however they were asked for', async () => {
    const { it, ids } = await scene(['a', 'b', 'c']);
    expect(await wait(it, ids.toReversed())).toEqual(ids);
    const [set] = await awaitedSets(it.database.read, ALL);
    expect(set).toMatchObject({ updateIds: ids, setSha256: setDigest(ids), round: 0 });
  });

  test('whose names are too long for one request wait as two sets, each with a request that an agent takes', async () => {
    const { it, ids } = await scene(['a']);
    const [row] = (await findUpdates(it.database.read, ids)).values();
    if (!row) throw new Error('it is there');
    const long = Array.from({ length: 900 }, (_, i) => ({
      ...{
        ...row,
        id: `01900000-0000-7000-8000-${`${i}`.padStart(12, '0')}`,
        name: `${i}-${'n'.repeat(205)}`,
      },
      available_version: '9'.repeat(250),
      plan_id: null,
    }));
    await it.database.transact((tx) => insertUpdates(tx, long));
    const named = long.map(({ id }) => id);
    expect(await wait(it, named)).toEqual(named);
    const sets = await awaitedSets(it.database.read, ALL);
    expect(sets.map(({ updateIds }) => updateIds.length)).toEqual([450, 450]);
    expect((await requestsOf(it)).map(([status]) => status)).toEqual(['pending', 'pending']);
    const { rows } = await sql<{
      bytes: number;
    }>`SELECT max(octet_length(params)) AS bytes FROM agent_commands`.execute(it.database.read);
    expect((Number(rows[0]?.bytes) * 4) / 3).toBeLessThan(COMMAND_MAX_BYTES);
  });

  test('of none that is open, nothing waits and nothing is asked for', async () => {
    const { it, ids } = await scene(['a']);
    await setState(it, ids[0] ?? '', 'rejected');
    expect(await wait(it, ids)).toEqual([]);
    expect(await requestsOf(it)).toEqual([]);
  });

  test('the same set again changes nothing, neither who asked nor the request', async () => {
    const { it, ids } = await scene(['a', 'b']);
    await wait(it, ids);
    it.clock.advance(1_000);
    expect(await wait(it, ids, 'grace')).toEqual(ids);
    expect(await requestsOf(it)).toEqual([['pending', ids]]);
    expect(await awaitedSets(it.database.read, ALL)).toMatchObject([{ askedBy: 'ada' }]);
  });

  test('another set with one of them is of who asks for it, and the request before is cancelled', async () => {
    const { it, ids } = await scene(['a', 'b', 'c']);
    const [a = '', b = '', c = ''] = ids;
    await wait(it, [a, b]);
    await wait(it, [b, c], 'grace');
    expect(await requestsOf(it)).toEqual([
      ['cancelled', [a, b]],
      ['pending', [b, c]],
    ]);
    const sets = await awaitedSets(it.database.read, ALL);
    expect(sets.map(({ updateIds, askedBy }) => [askedBy, updateIds]).toSorted()).toEqual([
      ['ada', [a]],
      ['grace', [b, c]],
    ]);
  });

  test('whose plan is there are not asked for, and the sweep continues with it', async () => {
    const { it, ids } = await scene(['a', 'b']);
    await it.addPlan(ids, actionsOf('a', 'b'));
    await wait(it, ids);
    expect(await requestsOf(it)).toEqual([]);
    await sweepOnce(it.deps);
    const states = [...(await findUpdates(it.database.read, ids)).values()].map(({ state }) => state);
    expect(states).toEqual(['approved', 'approved']);
  });

  test('wait no longer once their state says otherwise, whatever their rows say', async () => {
    const { it, ids } = await scene(['a', 'b']);
    const [a = '', b = ''] = ids;
    await wait(it, ids);
    await setState(it, a, 'approved');
    expect(await awaitedSets(it.database.read, ALL)).toMatchObject([{ updateIds: [b] }]);
    expect([...(await awaitedSetsOf(it.database.read, ids)).keys()]).toEqual([b]);
  });

  test('two versions of a package do not wait at once: the one that was asked for first does', async () => {
    const it = await createApprovalsApp(engine);
    const [small, great] = [await it.addUpdate({ version: '1-1' }), await it.addUpdate({ version: '2-1' })];
    expect(await wait(it, [small])).toEqual([small]);
    expect(await wait(it, [great])).toEqual([]);
    expect(await awaitedSets(it.database.read, ALL)).toMatchObject([{ updateIds: [small] }]);
  });

  test('are returned in pages by digest, each set whole', async () => {
    const { it, ids } = await scene(['a', 'b', 'c', 'd', 'e', 'f']);
    const sets = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)];
    for (const set of sets) await wait(it, set);
    const paged: string[][] = [];
    let after = '';
    for (;;) {
      const page = await awaitedSets(it.database.read, { after, limit: 1 });
      const [set] = page;
      if (!set) break;
      expect(page).toHaveLength(1);
      expect(set.setSha256 > after).toBe(true);
      paged.push([...set.updateIds]);
      after = set.setSha256;
    }
    expect(paged.toSorted()).toEqual(sets.toSorted());
  });
});
