import { describe, expect, test } from 'vitest';
import { awaitedSets } from '../commands/awaited-store.ts';
import { updatesOfCommand } from '../commands/named-updates.ts';
import { recordResult } from '../commands/record-result.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { sweepOnce } from './sweep.ts';

const VERSION = '1.1-1';
const ALL = { after: '', limit: 100 };
const actionsOf = (...names: string[]) => names.map((name) => actionOf({ name, version: VERSION }));
const bulk = (it: ApprovalsApp, ids: readonly string[], groups?: string) =>
  it.app
    .inject({
      ...{ method: 'POST', url: '/api/v1/updates/approve', payload: { update_ids: ids } },
      headers: groups === undefined ? {} : { 'x-test-groups': groups },
    })
    .then((answer) => answer.json());

describe.each(ENGINES)('sets of updates on $name', (engine) => {
  /** Updates of these packages, each with a plan of its own. */
  async function scene(names: readonly string[], agentId?: string) {
    const it = await createApprovalsApp(engine);
    const ids: string[] = [];
    for (const name of names) {
      ids.push(await it.addUpdate({ name, version: VERSION, ...(agentId && { agentId }) }));
    }
    return { it, ids };
  }

  async function waiting(it: ApprovalsApp): Promise<{ ids: readonly string[]; round: number }[]> {
    const sets = await awaitedSets(it.database.read, ALL);
    const found = sets.map(({ updateIds: ids, round }) => ({ ids, round }));
    return found.toSorted((a, b) => ((a.ids[0] ?? '') < (b.ids[0] ?? '') ? -1 : 1));
  }
  const statesOf = async (it: ApprovalsApp, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await findUpdate(it.database.read, id))?.state));
  const requestsOf = async (it: ApprovalsApp, status: string) => {
    const query = it.database.read.selectFrom('agent_commands').selectAll().where('status', '=', status);
    return (await query.where('action', '=', 'plan_update').orderBy('id').execute()).map((row) => ({
      ...{ id: row.id, ids: updatesOfCommand(row) },
    }));
  };
  /** The host answers a request that there is no such transaction. */
  async function fail(it: ApprovalsApp, commandId: string | undefined) {
    const id = commandId ?? '';
    await it.database.transact(async (tx) => {
      await tx.updateTable('agent_commands').set({ status: 'sent' }).where('id', '=', id).execute();
      const result = { status: 'failed' as const, reason: 'they conflict' };
      await recordResult(tx, it.platform, { agentId: it.agentId, commandId: id, result });
    });
  }

  describe('the sweep', () => {
    /** Updates whose own plans bring a package each that only a joint plan brings in its flagged version. */
    async function flagging(names: readonly string[]) {
      const it = await createApprovalsApp(engine);
      const ids: string[] = [];
      for (const name of names) {
        it.vulnerable({ id: `CVE-${name}`, ...flaggedOf(name) });
        ids.push(await it.addUpdate({ name, version: VERSION, plan: actionsOf(name, `lib${name}`) }));
      }
      const idsOf = (some: readonly string[]) => some.map((name) => ids[names.indexOf(name)] ?? '');
      const planFlagged = (some: readonly string[], of: string) =>
        it.addPlan(idsOf(some), [...actionsOf(...some), actionOf(flaggedOf(of))]);
      return { it, idsOf, planFlagged };
    }
    const flaggedOf = (name: string) => ({ name: `lib${name}`, version: '6.6-6' });

    test('takes what the gate stops out of a set in five rounds, and then halves it', async () => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
      const { it, idsOf, planFlagged } = await flagging(names);
      await bulk(it, idsOf(names));
      for (let round = 1; round <= 5; round += 1) {
        const [stopped = '', ...rest] = names.slice(round - 1);
        await planFlagged([stopped, ...rest], stopped);
        await sweepOnce(it.deps);
        expect(await waiting(it)).toEqual([{ ids: idsOf(rest), round }]);
        expect(await statesOf(it, idsOf([stopped]))).toEqual(['pending']);
      }
      await planFlagged(['f', 'g', 'h', 'i'], 'f');
      await sweepOnce(it.deps);
      expect(await waiting(it)).toEqual([
        { ids: idsOf(['f', 'g']), round: 6 },
        { ids: idsOf(['h', 'i']), round: 6 },
      ]);
    });

    test('counts the round of the request that found a set flagged', async () => {
      const { it, idsOf, planFlagged } = await flagging(['a', 'b', 'c']);
      await planFlagged(['a', 'b', 'c'], 'a');
      await bulk(it, idsOf(['a', 'b', 'c']));
      expect(await waiting(it)).toEqual([{ ids: idsOf(['b', 'c']), round: 1 }]);
    });

    test('returns a whole set when its host is revoked, and mints nothing for it', async () => {
      const { it, ids } = await scene(['a', 'b']);
      await bulk(it, ids);
      await it.addPlan(ids, actionsOf('a', 'b'));
      await it.database.transact((tx) => tx.updateTable('agents').set({ status: 'revoked' }).execute());
      await sweepOnce(it.deps);
      expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
      expect(await findUpdate(it.database.read, ids[1] ?? '')).toMatchObject({
        ...{ state_reason: 'agent_revoked', approval_id: null },
      });
    });

    test('halves no set for a request of another one that has failed', async () => {
      const { it, ids } = await scene(['a', 'b', 'c', 'd']);
      await bulk(it, ids.slice(0, 2));
      const [smaller] = await requestsOf(it, 'pending');
      await bulk(it, ids);
      const [larger] = await requestsOf(it, 'pending');
      expect(larger?.ids).toEqual(ids);
      // The request of the smaller set is the newest that has ended, and that of the larger one is lost.
      await it.database.transact(async (tx) => {
        await tx
          .deleteFrom('command_updates')
          .where('command_id', '=', larger?.id ?? '')
          .execute();
        await tx
          .updateTable('agent_commands')
          .set({ status: 'failed' })
          .where('id', '=', smaller?.id ?? '')
          .execute();
      });
      await sweepOnce(it.deps);
      expect(await waiting(it)).toEqual([{ ids, round: 0 }]);
      await it.database.transact((tx) =>
        tx
          .insertInto('command_updates')
          .values(ids.map((update_id) => ({ command_id: larger?.id ?? '', update_id })))
          .execute(),
      );
      await fail(it, larger?.id);
      await sweepOnce(it.deps);
      expect((await waiting(it)).map((set) => set.ids)).toEqual([ids.slice(0, 2), ids.slice(2)]);
    });

    test('asks anew for those that are left when one of a set has ended', async () => {
      const { it, ids } = await scene(['a', 'b', 'c']);
      const [, ...others] = ids;
      await bulk(it, ids);
      await it.database.transact((tx) =>
        tx
          .updateTable('updates')
          .set({ state: 'installed' })
          .where('id', '=', ids[0] ?? '')
          .execute(),
      );
      await sweepOnce(it.deps);
      expect((await requestsOf(it, 'pending')).map((request) => request.ids)).toEqual([others]);
      expect(await waiting(it)).toEqual([{ ids: others, round: 1 }]);
    });

    test('installs a set at the latest time that was named for one of them', async () => {
      const { it, ids } = await scene(['a', 'b']);
      await bulk(it, ids);
      const [a = '', b = ''] = ids;
      const set = (id: string, not_before: number) =>
        it.database.transact((tx) =>
          tx.updateTable('updates').set({ not_before }).where('id', '=', id).execute(),
        );
      const now = it.platform.now();
      await set(a, now + 9_000_000);
      await set(b, now + 5_000_000);
      await it.addPlan(ids, actionsOf('a', 'b'));
      await sweepOnce(it.deps);
      const query = it.database.read.selectFrom('agent_commands').select('not_before');
      expect(await query.where('action', '=', 'install_update').execute()).toEqual([
        { not_before: now + 9_000_000 },
      ]);
    });

    test('halves a set of which one has another version approved, until that one alone returns', async () => {
      const { it, ids } = await scene(['a', 'b', 'c', 'd']);
      const [a = '', b = '', c = '', d = ''] = ids;
      await bulk(it, ids);
      const rival = await it.addUpdate({ name: 'd', version: '2.0-1', state: 'approved' });
      await it.addPlan(ids, actionsOf('a', 'b', 'c', 'd'));
      await sweepOnce(it.deps);
      expect((await waiting(it)).map((set) => set.ids)).toEqual([
        [a, b],
        [c, d],
      ]);
      await it.addPlan([a, b], actionsOf('a', 'b'));
      await it.addPlan([c, d], actionsOf('c', 'd'));
      await sweepOnce(it.deps);
      await sweepOnce(it.deps);
      expect(await statesOf(it, [...ids, rival])).toEqual([
        ...['approved', 'approved', 'approved', 'pending'],
        'approved',
      ]);
      expect(await findUpdate(it.database.read, d)).toMatchObject({ state_reason: 'other_version_approved' });
    });
  });

  describe('a group whose plan is there', () => {
    test('is not approved by an operator of other groups, nor said to exist', async () => {
      const { it, ids } = await scene(['a', 'b']);
      await it.addPlan(ids, actionsOf('a', 'b'));
      const answer = await bulk(it, ids, 'db');
      expect(answer).toMatchObject({ approved: [], awaiting_plan: [], blocked: [] });
      expect(answer.skipped).toEqual(ids.map((update_id) => ({ update_id, code: 'not_found' })));
      expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
    });

    test.each(['approved', 'installing', 'failed', 'rejected'])(
      'is not approved as it is while one of them is %s: the others wait for a plan of their own',
      async (state) => {
        const { it, ids } = await scene(['a', 'b', 'c']);
        const [a = '', b = '', c = ''] = ids;
        await it.addPlan(ids, actionsOf('a', 'b', 'c'));
        await it.database.transact((tx) =>
          tx.updateTable('updates').set({ state }).where('id', '=', b).execute(),
        );
        const answer = await bulk(it, ids);
        expect(answer).toMatchObject({ approved: [], skipped: [{ update_id: b, code: 'conflict' }] });
        expect(await waiting(it)).toMatchObject([{ ids: [a, c] }]);
      },
    );

    test('of two versions of one package is not approved as it is: one of them is', async () => {
      const it = await createApprovalsApp(engine);
      const versions = ['1.2.0', '2.0.0'];
      const plan = versions.map((version) => actionOf({ name: 'left-pad', version, ecosystem: 'npm' }));
      const ids: string[] = [];
      for (const version of versions) {
        ids.push(await it.addUpdate({ name: 'left-pad', ecosystem: 'npm', version }));
      }
      await it.addPlan(ids, plan);
      const answer = await bulk(it, ids);
      expect(answer).toMatchObject({
        approved: [{ update_id: ids[0] }],
        skipped: [{ update_id: ids[1], code: 'conflict' }],
      });
      expect(await statesOf(it, ids)).toEqual(['approved', 'pending']);
    });

    test('is not approved on a host that was revoked', async () => {
      const { it, ids } = await scene(['a', 'b']);
      await it.addPlan(ids, actionsOf('a', 'b'));
      await it.database.transact((tx) => tx.updateTable('agents').set({ status: 'revoked' }).execute());
      expect(await bulk(it, ids)).toMatchObject({ approved: [], awaiting_plan: [] });
      expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
    });

    test('that is flagged is judged update by update: nothing of it is minted as it is', async () => {
      const { it, ids } = await scene(['a', 'b']);
      const [a = '', b = ''] = ids;
      it.vulnerable({ name: 'b', version: VERSION });
      await it.addPlan(ids, actionsOf('a', 'b'));
      const answer = await bulk(it, ids);
      expect(answer).toMatchObject({ approved: [{ update_id: a }], blocked: [{ update_id: b }] });
      const { envelope } = await it.database.read
        .selectFrom('approvals')
        .select('envelope')
        .executeTakeFirstOrThrow();
      const { payload } = JSON.parse(envelope);
      expect(JSON.parse(Buffer.from(payload, 'base64').toString()).actions).toEqual(actionsOf('a'));
    });

    test('of two hosts is two groups, each judged by its own plan', async () => {
      const { it, ids } = await scene(['a', 'b']);
      const { agentId } = await insertTestAgent(it.database, { n: 2 });
      const other = [
        await it.addUpdate({ name: 'a', version: VERSION, agentId }),
        await it.addUpdate({ name: 'b', version: VERSION, agentId }),
      ];
      await it.addPlan(ids, actionsOf('a', 'b'));
      const answer = await bulk(it, [...ids, ...other]);
      expect(answer.approved.map((one: { update_id: string }) => one.update_id).toSorted()).toEqual(ids);
      expect(await waiting(it)).toMatchObject([{ ids: other }]);
    });
  });
});
