import { ApprovalPayload, type Envelope } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { updatesOfTokens } from '../approval-tokens/store.ts';
import { listCommands } from '../commands/store.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { setDigest } from '../updates/update-set.ts';
import { listDecisions } from './decision-store.ts';
import { policyOf } from './deps.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest } from './gate-facts.ts';
import { factsOf, waitForSources } from './load-facts.ts';
import { loadSets, subjectsOfUpdate } from './load-update.ts';
import { type Minting, mintApproval, mintApprovals } from './mint-approval.ts';

const PLAIN: ApprovalRequest = { by: 'operator', override: false, overrideReason: null };

describe.each(ENGINES)('minting for a set of updates on $name', (engine) => {
  const ACTIONS = ['curl', 'vim'].map((name) => actionOf({ name, version: '8.1-1' }));

  /** Two updates of one host and the joint plan that brings both, judged. */
  async function setUp() {
    const it = await createApprovalsApp(engine);
    const ids: string[] = [];
    for (const name of ['curl', 'vim']) {
      it.clock.advance(1);
      ids.push(await it.addUpdate({ name, version: '8.1-1', plan: ACTIONS }));
    }
    return { it, ids, minting: await judged(it, ids) };
  }

  async function judged(it: ApprovalsApp, ids: readonly string[], actions = ACTIONS): Promise<Minting> {
    await it.addPlan(ids, actions);
    const [loaded] = await loadSets(it.deps, [ids]);
    if (!loaded) throw new Error('the set exists');
    const waited = await waitForSources(it.deps, subjectsOfUpdate(loaded), 30_000);
    const [facts] = await factsOf(it.deps, [loaded], waited);
    if (!facts) throw new Error('a loaded set has facts');
    const verdict = judge(facts, policyOf(it.deps), PLAIN);
    if (verdict.kind !== 'mint') throw new Error(verdict.kind);
    const by = {
      approvedBy: 'ada',
      actor: 'ada',
      request: PLAIN,
      via: 'bulk',
      bulkId: null,
      notBeforeMs: null,
      until: null,
    } as const;
    return { loaded, facts, verdict, ...by };
  }

  const mint = (it: ApprovalsApp, minting: Minting) =>
    it.database.transact((tx) => mintApproval(tx, it.deps, minting));
  const statesOf = (it: ApprovalsApp, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await findUpdate(it.database.read, id))?.state));

  function payloadOf({ payload }: Envelope): ApprovalPayload {
    return Value.Parse(ApprovalPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
  }

  test('one token, one command, one decision and one event name all of them', async () => {
    const { it, ids, minting } = await setUp();
    const minted = await mint(it, minting);
    if (minted.kind !== 'minted') throw new Error(minted.kind);
    const sorted = ids.toSorted();
    const payload = payloadOf(minted.token);
    expect(payload.updates.map(({ update_id }) => update_id)).toEqual(sorted);
    expect(payload.actions).toEqual(ACTIONS);
    expect(await updatesOfTokens(it.database.read, [minted.tokenId])).toEqual(sorted);
    expect(await statesOf(it, ids)).toEqual(['approved', 'approved']);
    for (const id of ids) {
      const filter = { updateId: id, action: 'install_update' };
      const commands = await listCommands(it.database.read, { filter, scope: null, limit: 9, before: null });
      expect(commands).toMatchObject([{ params: JSON.stringify({ update_ids: sorted }) }]);
      const decisions = await listDecisions(it.database.read, { updateId: id, limit: 9, before: null });
      expect(decisions).toMatchObject([{ token_id: minted.tokenId, set_sha256: setDigest(ids) }]);
      expect(await findUpdate(it.database.read, id)).toMatchObject({ approval_id: minted.tokenId });
    }
    const query = it.database.read.selectFrom('events').selectAll().where('type', '=', 'update_approved');
    const [event, ...rest] = await query.execute();
    expect(rest).toEqual([]);
    expect(JSON.parse(event?.content ?? '')).toMatchObject({
      updates: sorted.map((update_id) => ({ update_id })),
      update_count: 2,
    });
  });

  test('none is approved when one of them is decided meanwhile', async () => {
    const { it, ids, minting } = await setUp();
    const [first = '', second = ''] = ids;
    await it.call('POST', `/api/v1/updates/${second}/reject`, {});
    expect(await mint(it, minting)).toEqual({ kind: 'conflict' });
    expect(await statesOf(it, [first, second])).toEqual(['pending', 'rejected']);
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('of two sets with versions of one package, minted together, the first is', async () => {
    const it = await createApprovalsApp(engine);
    const mintings: Minting[] = [];
    for (const version of ['8.1-1', '8.2-1']) {
      it.clock.advance(1);
      const actions = [actionOf({ name: 'curl', version })];
      mintings.push(
        await judged(it, [await it.addUpdate({ name: 'curl', version, plan: actions })], actions),
      );
    }
    const outcomes = await it.database.transact((tx) => mintApprovals(tx, it.deps, mintings));
    expect(outcomes).toMatchObject([{ kind: 'minted' }, { kind: 'other_version', version: '8.1-1' }]);
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toHaveLength(1);
  });

  test('of two sets with a common update one is minted', async () => {
    const { it, ids, minting } = await setUp();
    const again = await judged(it, ids.slice(0, 1));
    const outcomes = await Promise.all([mint(it, minting), mint(it, again)]);
    expect(outcomes.filter(({ kind }) => kind === 'minted')).toHaveLength(1);
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toHaveLength(1);
  });

  test('a newer plan of the same set has to be judged first', async () => {
    const { it, ids, minting } = await setUp();
    it.clock.advance(1_000);
    await judged(it, ids, [...ACTIONS, actionOf({ name: 'libcurl4', version: '8.1-1' })]);
    expect(await mint(it, minting)).toEqual({ kind: 'plan_changed' });
    expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
  });

  test('A6: an override is never of several updates', async () => {
    const { it, ids, minting } = await setUp();
    const stop = { by: 'vulnerability', reason: 'known_vulnerability' } as const;
    const verdict = { ...minting.verdict, override: { stop, reason: 'all of them' } };
    await expect(mint(it, { ...minting, verdict })).rejects.toThrow('the set is not of one update');
    expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('taking one back returns the other, and voids the token of both', async () => {
    const { it, ids, minting } = await setUp();
    const minted = await mint(it, minting);
    if (minted.kind !== 'minted') throw new Error(minted.kind);
    const [first = '', second = ''] = ids;
    await it.call('POST', `/api/v1/updates/${first}/reopen`, {});
    expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
    expect(await findUpdate(it.database.read, second)).toMatchObject({
      state_reason: 'approval_withdrawn: taken_back',
    });
    const [approval] = await it.database.read.selectFrom('approvals').selectAll().execute();
    expect(approval).toMatchObject({ token_id: minted.tokenId, void_reason: 'taken_back' });
  });
});
